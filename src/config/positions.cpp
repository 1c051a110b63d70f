#include "config/positions.hpp"

#include <algorithm>

#include "core/base/utf8.hpp"

namespace damaris::config {
namespace {

constexpr std::size_t kStride = 256;

bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

Positions::Positions(std::string_view text) : text_(text), not_utf8_(find_not_utf8(text)), lines_{0} {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i % kStride == 0) marks_.push_back(sum);
    sum += units(text[i]);
    const bool lone_return = text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n');
    if (text[i] == '\n' || lone_return) lines_.push_back(i + 1);
  }
  marks_.push_back(sum);
}

std::size_t Positions::units(char c) const {
  if (not_utf8_ != std::string_view::npos) return 1;
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0xf0 ? 2 : (byte & 0xc0) != 0x80 ? 1 : 0;
}

std::size_t Positions::units_before(std::size_t offset) const {
  std::size_t sum = marks_[offset / kStride];
  for (std::size_t at = offset / kStride * kStride; at < offset; ++at) sum += units(text_[at]);
  return sum;
}

std::size_t Positions::offset(Location where) const {
  const std::size_t line = static_cast<std::size_t>(std::max(where.line, 1)) - 1;
  if (line >= lines_.size()) return text_.size();
  const std::size_t begin = lines_[line], end = line + 1 < lines_.size() ? lines_[line + 1] : text_.size();
  const std::size_t wanted = units_before(begin) + static_cast<std::size_t>(std::max(where.column, 1)) - 1;
  const auto mark = std::upper_bound(marks_.begin(), marks_.end() - 1, wanted) - marks_.begin();
  std::size_t at = std::max(begin, mark == 0 ? 0 : static_cast<std::size_t>(mark - 1) * kStride);
  for (std::size_t sum = units_before(at); at < end && (sum < wanted || units(text_[at]) == 0); ++at) sum += units(text_[at]);
  return at;
}

Location Positions::location(std::size_t offset) const {
  const auto after = std::upper_bound(lines_.begin(), lines_.end(), offset);
  const auto line = after - lines_.begin();
  return {static_cast<int>(line),
          static_cast<int>(units_before(offset) - units_before(lines_[static_cast<std::size_t>(line) - 1])) + 1};
}

std::size_t Positions::tag(Location end) const {
  // An attribute value may hold '>', but never '<'.
  const std::size_t at = offset(end);
  const std::size_t found = at == 0 ? std::string_view::npos : text_.rfind('<', at - 1);
  return found == std::string_view::npos ? 0 : found;
}

void Positions::locate(std::size_t tag, Attribute& attribute) const {
  attribute.where = attribute.value_where = location(tag);
  attribute.given = attribute.plain = false;
  std::size_t at = tag + 1;
  while (at < text_.size() && !blank(text_[at]) && text_[at] != '>') ++at;
  while (at < text_.size() && text_[at] != '>') {
    while (at < text_.size() && (blank(text_[at]) || text_[at] == '/')) ++at;
    const std::size_t name = at;
    while (at < text_.size() && text_[at] != '=' && text_[at] != '>' && !blank(text_[at])) ++at;
    const std::size_t name_end = at;
    const std::size_t open = text_.find_first_of("\"'", at);
    const std::size_t close = open == std::string_view::npos ? open : text_.find(text_[open], open + 1);
    if (name_end == name || close == std::string_view::npos) return;
    if (text_.substr(name, name_end - name) == attribute.name) {
      attribute.where = location(name);
      attribute.value_where = location(open + 1);
      attribute.given = true;
      attribute.plain = text_.substr(open + 1, close - open - 1).find_first_of("&\n\r") == std::string_view::npos;
      return;
    }
    at = close + 1;
  }
}

std::size_t Positions::text_before(Location end) const {
  const std::size_t stop = offset(end);
  if (stop == 0) return std::string_view::npos;
  std::size_t at = text_.find_last_of("<>", stop - 1);
  at = at == std::string_view::npos ? 0 : at + 1;
  while (at < stop && blank(text_[at])) ++at;
  return at < stop ? at : std::string_view::npos;
}

std::string Positions::word(std::size_t offset) const {
  constexpr std::size_t kLongest = 40;
  std::size_t end = offset;
  while (end < text_.size() && end < offset + kLongest && !blank(text_[end]) && text_[end] != '<') ++end;
  while (end < text_.size() && units(text_[end]) == 0) ++end;
  return std::string(text_.substr(offset, end - offset));
}

}  // namespace damaris::config
