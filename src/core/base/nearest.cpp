#include "core/base/nearest.hpp"

#include <algorithm>

#include "core/base/ascii.hpp"
#include "core/base/format.hpp"

namespace damaris {
namespace {

constexpr std::size_t kMostNames = 8;      // names in a list of known ones
constexpr std::size_t kLongestWord = 128;  // the distance costs the product of the lengths

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = ascii_lower(c);
  return result;
}

// Damerau-Levenshtein distance: insertions, deletions, replacements and swaps of neighbours.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(now);
  }
  return last[b.size()];
}

// Distance of two words, or npos if more than a third of the letters differ.
std::size_t near(const std::string& word, const std::string& candidate) {
  const std::size_t longest = std::max(word.size(), candidate.size());
  if (longest > kLongestWord) return std::string::npos;
  const std::size_t d = distance(word, candidate);
  return d * 3 <= longest ? d : std::string::npos;
}

}  // namespace

std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string wanted = lower(word);
  std::size_t best = std::string::npos;
  std::string name;
  for (const std::string& candidate : candidates) {
    const std::string known = lower(candidate);
    std::size_t d = near(wanted, known);
    // The bare name counts as much as the full path.
    const std::size_t slash = known.rfind('/');
    if (slash != std::string::npos) d = std::min(d, near(wanted, known.substr(slash + 1)));
    if (d < best) {
      best = d;
      name = candidate;
    }
  }
  return name;
}

std::string name_hint(std::string_view word, const std::vector<std::string>& candidates) {
  if (candidates.empty()) return "";
  const std::string name = nearest_name(word, candidates);
  if (!name.empty()) return format("; did you mean '{}'?", name);
  const std::size_t shown = std::min(candidates.size(), kMostNames);
  return format("; known: {}{}", join(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                shown < candidates.size() ? format(" and {} more", candidates.size() - shown) : "");
}

}  // namespace damaris
