// Plain tables for a terminal of 80 columns: a cell that is too long continues on the next line.
// Used by: damaris-check, one thread.
// Before it: what to show. After it: standard output.
#pragma once

#include <string>
#include <vector>

namespace damaris::check {

constexpr std::size_t kWidth = 80;

using Row = std::vector<std::string>;

// Rows under an underlined `header` (none if empty), indented by two; columns whose index is in `right` are flush right. A column in
// which no row has anything is left out.
std::string table(Row header, std::vector<Row> rows, std::vector<std::size_t> right = {});

// `text` in lines of at most `width` columns, broken at blanks where there are some; the second line on indented by `indent`.
std::string wrapped(const std::string& text, std::size_t width, std::size_t indent);

}  // namespace damaris::check
