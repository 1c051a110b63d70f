// Formats a real number for a message: 1e+300 instead of 301 digits, with a decimal point in every locale.
// Used by: messages of the codecs and of the hdf5 plugin.
#pragma once

#include <charconv>
#include <string>

namespace damaris::codec {

inline std::string number_text(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6);
  return {text, end.ptr};
}

}  // namespace damaris::codec
