// Locale-independent tests of text: beginnings, ASCII letters, digits and control characters.
// Used by: every folder, any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace damaris {

constexpr bool is_ascii_letter_or_digit(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr char ascii_lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr bool begins_with(std::string_view text, std::string_view start) noexcept { return text.substr(0, start.size()) == start; }

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

}  // namespace damaris
