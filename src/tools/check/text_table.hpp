// Plain tables for a terminal of 80 columns: long cells wrap to the next line.
// Used by: damaris-check and damaris-replay, one thread.
// Before it: the cells. After it: standard output.
#pragma once

#include <string>
#include <vector>

namespace damaris::check {

constexpr std::size_t kWidth = 80;

using Row = std::vector<std::string>;

// Rows under an underlined `header` (none if empty), indented by two; columns whose index is in `right` are flush right. Columns that are
// empty in every row are omitted.
std::string table(Row header, std::vector<Row> rows, std::vector<std::size_t> right = {});

// Wraps `text` to lines of at most `width` columns, at blanks where possible; lines after the first are indented by `indent`.
std::string wrapped(const std::string& text, std::size_t width, std::size_t indent);

}  // namespace damaris::check
