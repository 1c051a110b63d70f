#include "core/base/text.hpp"

#include <algorithm>
#include <limits>

#include "core/base/format.hpp"

namespace damaris {
namespace {

constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();

// An unsigned decimal number and the unit that follows it. Not strtod, which depends on the locale and accepts "inf" and hexadecimal.
struct Quantity {
  std::uint64_t whole = 0;
  std::uint64_t fraction = 0;  // in units of 1 / fraction_unit
  std::uint64_t fraction_unit = 1;
  std::string unit;  // lower case, blanks removed
};

bool digit(char c) { return c >= '0' && c <= '9'; }

std::optional<Quantity> split(std::string_view text) {
  Quantity q;
  std::size_t i = 0;
  if (text.empty() || !digit(text[0])) return {};
  for (; i < text.size() && digit(text[i]); ++i) {
    if (q.whole > (kLargest - 9) / 10) return {};
    q.whole = q.whole * 10 + static_cast<std::uint64_t>(text[i] - '0');
  }
  if (i < text.size() && text[i] == '.') {
    const std::size_t point = i++;
    for (; i < text.size() && digit(text[i]); ++i) {
      if (i - point > 9) return {};
      q.fraction = q.fraction * 10 + static_cast<std::uint64_t>(text[i] - '0');
      q.fraction_unit *= 10;
    }
    if (q.fraction_unit == 1) return {};
  }
  while (i < text.size() && text[i] == ' ') ++i;
  for (; i < text.size(); ++i) q.unit += ascii_lower(text[i]);
  return q;
}

std::optional<std::uint64_t> scale(const Quantity& q, std::uint64_t factor) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{q.whole} * factor + Wide{q.fraction} * factor / q.fraction_unit;
  if (product > kLargest) return {};
  return static_cast<std::uint64_t>(product);
}

template <std::size_t N>
std::optional<std::uint64_t> parse(std::string_view text, const std::pair<const char*, std::uint64_t> (&units)[N]) {
  const auto quantity = split(text);
  if (!quantity) return {};
  for (const auto& [name, factor] : units)
    if (quantity->unit == name) return scale(*quantity, factor);
  return {};
}

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

std::optional<std::uint64_t> parse_size(std::string_view text) {
  static constexpr std::pair<const char*, std::uint64_t> kUnits[] = {
      {"", 1},           {"b", 1},          {"kb", 1000},        {"mb", 1000'000},   {"gb", 1000'000'000}, {"tb", 1000'000'000'000},
      {"kib", 1u << 10}, {"mib", 1u << 20}, {"gib", 1ull << 30}, {"tib", 1ull << 40}};
  return parse(text, kUnits);
}

std::optional<std::int64_t> parse_duration_ms(std::string_view text) {
  static constexpr std::pair<const char*, std::uint64_t> kUnits[] = {
      {"", 1000}, {"ms", 1}, {"s", 1000}, {"min", 60'000}, {"h", 3'600'000}};
  const auto value = parse(text, kUnits);
  if (!value) return {};
  return static_cast<std::int64_t>(*value);
}

std::string size_text(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return format("{} B", bytes);
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  std::string number = format("{:.1f}", value);
  if (number.size() > 2 && number.compare(number.size() - 2, 2, ".0") == 0) number.resize(number.size() - 2);
  return number + " " + kUnits[unit];
}

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
