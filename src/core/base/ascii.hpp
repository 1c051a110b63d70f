// Letters and digits of ASCII, whatever the program's locale says of them.
// Used by: every folder, any thread.
#pragma once

namespace damaris {

constexpr bool is_ascii_letter_or_digit(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr char ascii_lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace damaris
