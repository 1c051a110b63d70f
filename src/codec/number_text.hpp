// A real number in a sentence: as people write it, 1e+300 and not 301 digits, and with a point whatever the program's locale.
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
