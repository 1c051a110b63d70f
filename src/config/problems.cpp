#include "config/problems.hpp"

#include <algorithm>
#include <utility>

#include "core/base/ascii.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"

namespace damaris::config {
namespace {

constexpr std::size_t kMaxReported = 20;
constexpr std::size_t kLongestSentence = 600;  // a value may be a megabyte long

// Makes one line of it whatever a value contains: each problem is one line, and control sequences from a file must not reach a
// terminal.
std::string one_line(std::string sentence) {
  if (sentence.size() > kLongestSentence) sentence = sentence.substr(0, kLongestSentence) + " ...";
  return without_controls(std::move(sentence));
}

}  // namespace

void Problems::add(Location where, std::string sentence) { list_.push_back({where, one_line(std::move(sentence))}); }

void Problems::throw_if_any() {
  if (list_.empty()) return;
  std::stable_sort(list_.begin(), list_.end(), [](const Problem& a, const Problem& b) {
    return a.where.line != b.where.line ? a.where.line < b.where.line : a.where.column < b.where.column;
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(list_.size(), kMaxReported); ++i)
    text += format("{}{}:{}:{}: {}", i == 0 ? "" : "\n", path_, list_[i].where.line, list_[i].where.column, list_[i].sentence);
  if (list_.size() > kMaxReported)
    text += format("\n{}: and {}{} more errors", path_, many() ? "at least " : "", list_.size() - kMaxReported);
  throw Error(DC_E_CONFIG, text);
}

}  // namespace damaris::config
