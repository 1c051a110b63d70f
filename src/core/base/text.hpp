// Text, whatever the locale: ASCII and UTF-8, sizes and durations ("64MiB", "10s"), and the known name nearest to a misspelt one.
// Used by: every folder, any thread; plugins only what is in the header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace damaris {

constexpr bool is_ascii_letter_or_digit(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr char ascii_lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr bool begins_with(std::string_view text, std::string_view start) noexcept { return text.substr(0, start.size()) == start; }
constexpr bool ends_with(std::string_view text, std::string_view end) noexcept {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Replaces each control character except `kept` by '?', including U+0080 to U+009F in UTF-8, so that no terminal interprets it. One line.
inline std::string without_controls(std::string text, int kept = -1) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    const bool two_bytes = byte == 0xc2 && next >= 0x80 && next < 0xa0;
    if (two_bytes || (byte < 0x20 && text[i] != kept) || byte == 0x7f) text.replace(i, two_bytes ? 2 : 1, "?");
  }
  return text;
}

// The same for text of several lines, which may contain names chosen by other users.
inline std::string lines_without_controls(std::string text) { return without_controls(std::move(text), '\n'); }

// The position of the first byte that is not part of a valid character, or npos. Surrogates and overlong forms are invalid.
constexpr std::size_t find_not_utf8(std::string_view text) noexcept {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned c = byte(i);
    const std::size_t length = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
    if (length == 0 || i + length > text.size()) return i;
    for (std::size_t k = 1; k < length; ++k)
      if ((byte(i + k) & 0xc0) != 0x80) return i;
    const unsigned second = length > 2 ? byte(i + 1) : 0;
    if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f) || (c == 0xf0 && second < 0x90) ||
        (c == 0xf4 && second > 0x8f))
      return i;
    i += length;
  }
  return std::string_view::npos;
}

// Parses "4096", "64KiB", "1.5GiB", "10MB" (powers of 1000). Returns bytes, or nothing if `text` is not a size or exceeds 2^63.
std::optional<std::uint64_t> parse_size(std::string_view text);

// Parses "250ms", "10s", "2min", "1h"; a bare number is seconds. Returns milliseconds, or nothing.
std::optional<std::int64_t> parse_duration_ms(std::string_view text);

// Returns "17 B", "2.5 MiB", ...
std::string size_text(std::uint64_t bytes);

// Returns the candidate with the smallest edit distance to `word`, ignoring case; "" if more than a third of the letters differ from each.
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

// Returns "; did you mean 'x'?", or "; known: a, b, c" (at most eight names) if nothing is near, or "" without candidates.
std::string name_hint(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace damaris
