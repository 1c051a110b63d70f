#include "tools/check/text_table.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

namespace damaris::check {
namespace {

constexpr std::size_t kIndent = 2, kGap = 2, kNarrowest = 8;

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// Bytes of the first `count` characters. Looks no further: a value may be megabytes long.
std::size_t bytes_of(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; at < text.size(); ++at)
    if (begins_character(text[at]) && count-- == 0) break;
  return at;
}

// Characters, `most` if there are more.
std::size_t columns(std::string_view text, std::size_t most = kWidth) {
  const std::string_view head = text.substr(0, bytes_of(text, most));
  return static_cast<std::size_t>(std::count_if(head.begin(), head.end(), begins_character));
}

// Removes the first line from `text` and returns it.
std::string_view take_line(std::string_view& text, std::size_t width) {
  const std::size_t end = bytes_of(text, width);
  if (end == text.size()) return std::exchange(text, {});
  std::size_t cut = text[end] == ' ' ? end : text.find_last_of(" ,/", end - 1);
  if (cut == std::string_view::npos || cut == 0)
    cut = end;
  else if (text[cut] != ' ')
    ++cut;
  const std::string_view line = text.substr(0, cut);
  text.remove_prefix(std::min(text.find_first_not_of(' ', cut), text.size()));
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

// Natural widths, at most that of the page; while the sum is too large, the widest column shrinks by one.
std::vector<std::size_t> widths(const Row& header, const std::vector<Row>& rows) {
  std::vector<std::size_t> result(rows.empty() ? header.size() : rows.front().size(), 0);
  const auto grow = [&result](const Row& row) {
    for (std::size_t i = 0; i < row.size(); ++i) result[i] = std::max(result[i], columns(row[i]));
  };
  grow(header);
  for (const Row& row : rows) grow(row);
  const std::size_t room = kWidth - kIndent - kGap * (result.size() - 1);
  while (std::accumulate(result.begin(), result.end(), std::size_t{0}) > room) {
    auto widest = std::max_element(result.begin(), result.end());
    if (*widest <= kNarrowest) break;
    --*widest;
  }
  return result;
}

std::string lines_of(const Row& row, const std::vector<std::size_t>& width, const std::vector<std::size_t>& right) {
  std::string text;
  std::vector<std::string_view> cells(row.begin(), row.end());  // what is left of them
  do {
    std::string line(kIndent, ' ');
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string part(take_line(cells[i], width[i]));
      const std::string padding(width[i] - std::min(width[i], columns(part)), ' ');
      const bool flush_right = std::count(right.begin(), right.end(), i) != 0;
      line += (flush_right ? padding + part : part + padding) + std::string(kGap, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  } while (std::any_of(cells.begin(), cells.end(), [](std::string_view cell) { return !cell.empty(); }));
  return text;
}

// Removes columns that are empty in every row.
void drop_empty(Row& header, std::vector<Row>& rows, std::vector<std::size_t>& right) {
  for (std::size_t i = rows.empty() ? 0 : rows.front().size(); i-- > 0;) {
    if (std::any_of(rows.begin(), rows.end(), [i](const Row& row) { return !row[i].empty(); })) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    if (!header.empty()) header.erase(header.begin() + at);
    for (Row& row : rows) row.erase(row.begin() + at);
    right.erase(std::remove(right.begin(), right.end(), i), right.end());
    for (std::size_t& column : right) column -= column > i ? 1 : 0;
  }
}

}  // namespace

std::string table(Row header, std::vector<Row> rows, std::vector<std::size_t> right) {
  drop_empty(header, rows, right);
  const std::vector<std::size_t> width = widths(header, rows);
  std::string text;
  if (!header.empty()) {
    Row rule;
    for (std::size_t i = 0; i < width.size(); ++i) rule.emplace_back(header[i].empty() ? 0 : width[i], '-');
    text = lines_of(header, width, right) + lines_of(rule, width, right);
  }
  for (const Row& row : rows) text += lines_of(row, width, right);
  return text;
}

std::string wrapped(const std::string& given, std::size_t width, std::size_t indent) {
  std::string_view text = given;
  std::string result;
  while (!text.empty()) {
    const std::string margin(result.empty() ? 0 : indent, ' ');
    result += (result.empty() ? "" : "\n") + margin;
    result += take_line(text, width - margin.size());
  }
  return result;
}

}  // namespace damaris::check
