// Contents for chunks, from noise to constants: what the codecs are tried on.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

using Bytes = std::vector<unsigned char>;

inline const std::vector<std::string>& kinds_of_contents() {
  static const std::vector<std::string> kinds = {"noise", "constant", "few", "runs", "rows", "smooth", "patches", "special"};
  return kinds;
}

inline float special_value(unsigned k) {
  const float values[] = {0.0f,
                          -0.0f,
                          std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(),
                          1e-42f,
                          std::numeric_limits<float>::max()};
  return values[k % 6];
}

// `bytes` bytes of a kind; `row` is the distance at which "rows" repeats itself.
inline Bytes contents(const std::string& kind, std::size_t bytes, std::size_t row, std::mt19937& random) {
  Bytes result(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    const auto noise = static_cast<unsigned char>(random() & 255);
    if (kind == "noise") result[i] = noise;
    if (kind == "constant") result[i] = 7;
    if (kind == "few") result[i] = noise % 5;
    if (kind == "runs") result[i] = i > 0 && noise % 16 != 0 ? result[i - 1] : noise;
    if (kind == "rows") result[i] = i >= row && noise % 8 != 0 ? result[i - row] : noise;
    if (kind == "patches") result[i] = i / 3000 % 2 == 0 ? noise : 0;
  }
  if (kind != "smooth" && kind != "special") return result;
  for (std::size_t i = 0; i + 4 <= bytes; i += 4) {
    const float value =
        kind == "smooth" ? 300 + static_cast<float>(std::sin(static_cast<double>(i) / 400)) : special_value(random() & 7);
    std::memcpy(result.data() + i, &value, 4);
  }
  return result;
}
