// Which layer a thread was in, over time: the pixels of a timeline.
// Used by: python/damaris, at unify for the levels, and in the viewer.
// Before it: calls in order of begin. After it: levels/N.npy, a picture.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/kernel.h"

namespace {

struct Canvas {
  std::int64_t origin;
  double width;
  std::size_t bins, layers;
  double* ns;

  void add(std::int64_t begin, std::int64_t end, std::uint8_t layer) const {
    if (layer >= layers) return;
    double from = std::max(static_cast<double>(begin - origin), 0.0);
    const double to = std::min(static_cast<double>(end - origin), width * static_cast<double>(bins));
    if (!(from < to)) return;
    for (auto bin = static_cast<std::size_t>(from / width); bin < bins && from < to; ++bin) {
      const double edge = std::min(width * static_cast<double>(bin + 1), to);
      ns[bin * layers + layer] += edge - from;
      from = edge;
    }
  }
};

struct Open {
  std::int64_t end;
  std::uint8_t layer;
};

}  // namespace

void dt_paint(const std::int64_t* begin, const std::int64_t* end, const std::uint8_t* layer, std::size_t count, std::int64_t origin,
              double width, std::size_t bins, std::size_t layers, double* ns) {
  const Canvas canvas = {origin, width, bins, layers, ns};
  std::vector<Open> around;
  std::int64_t painted = INT64_MIN;  // up to here
  const auto leave = [&](std::int64_t until) {
    while (!around.empty() && around.back().end <= until) {
      canvas.add(painted, around.back().end, around.back().layer);
      painted = std::max(painted, around.back().end);
      around.pop_back();
    }
  };
  for (std::size_t i = 0; i < count; ++i) {
    leave(begin[i]);
    if (!around.empty()) canvas.add(painted, begin[i], around.back().layer);
    painted = begin[i];
    around.push_back({end[i], layer[i]});
  }
  leave(INT64_MAX);
}

void dt_shade(const double* ns, std::size_t bins, double width, std::size_t layers, std::uint8_t* shades) {
  for (std::size_t bin = 0; bin < bins; ++bin, ns += layers, shades += 2) {
    const double* const longest = std::max_element(ns, ns + layers);
    const bool is_empty = !(*longest > 0);
    shades[0] = static_cast<std::uint8_t>(is_empty ? 0 : longest - ns + 1);
    shades[1] = static_cast<std::uint8_t>(is_empty ? 0 : std::ceil(std::min(*longest / width, 1.0) * 255));
  }
}
