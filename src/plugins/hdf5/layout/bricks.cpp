#include "bricks.hpp"

#include <algorithm>

namespace damaris::hdf5 {

Extents brick_extents(const Box& box, std::size_t element_bytes, std::size_t limit_bytes) {
  Extents extents = {};
  std::int64_t bytes = std::max<std::int64_t>(static_cast<std::int64_t>(element_bytes), 1);
  const auto limit = static_cast<std::int64_t>(limit_bytes);
  for (int d = box.ndims - 1; d >= 0; --d) {
    const std::int64_t whole = std::max<std::int64_t>(box.extent(d), 1);
    const std::int64_t most = std::clamp<std::int64_t>(limit / bytes, 1, whole);
    const std::int64_t bricks = (whole + most - 1) / most;
    extents[d] = (whole + bricks - 1) / bricks;
    // Once a dimension is cut the slower ones are 1 thick, or a brick would be several runs.
    bytes = extents[d] == whole ? bytes * whole : limit;
  }
  return extents;
}

void for_each_brick(const Box& box, const Extents& extents, const std::function<void(const Box&)>& visit) {
  if (volume(box) == 0) return;
  Box brick = box;
  for (int d = 0; d < box.ndims; ++d) brick.high[d] = std::min(box.high[d], box.low[d] + extents[d]);
  for (;;) {
    visit(brick);
    // Counts like an odometer, the fastest dimension first.
    int d = box.ndims - 1;
    while (d >= 0 && brick.high[d] == box.high[d]) {
      brick.low[d] = box.low[d];
      brick.high[d] = std::min(box.high[d], box.low[d] + extents[d]);
      --d;
    }
    if (d < 0) return;
    brick.low[d] = brick.high[d];
    brick.high[d] = std::min(box.high[d], brick.low[d] + extents[d]);
  }
}

}  // namespace damaris::hdf5
