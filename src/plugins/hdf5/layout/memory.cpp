#include "memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace damaris::hdf5 {
namespace {

std::uint64_t bytes_of(const Extents& extents, int ndims, std::size_t element_bytes) {
  std::uint64_t bytes = element_bytes;
  for (int d = 0; d < ndims; ++d) bytes *= static_cast<std::uint64_t>(extents[d]);
  return bytes;
}

}  // namespace

Extents cut_to(Extents extents, int ndims, std::size_t element_bytes, std::uint64_t codec_bytes) {
  for (int d = 0; d < ndims; ++d)
    while (extents[d] > 1 && bytes_of(extents, ndims, element_bytes) * kCopiesOfChunk > codec_bytes)
      extents[d] = (extents[d] + 1) / 2;
  return extents;
}

std::size_t lanes_within(std::uint64_t codec_bytes, std::uint64_t chunk_bytes, std::size_t most) {
  const std::uint64_t each = std::max<std::uint64_t>(chunk_bytes * kCopiesOfChunk, 1);
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(codec_bytes / each, 1, most));
}

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size = 0, resident = 0, shared = 0;
  if (!(file >> size >> resident >> shared) || shared > resident) return 0;
  return (resident - shared) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

Extents brick_extents(const Box& box, std::size_t element_bytes, std::size_t limit_bytes) {
  Extents extents = {};
  std::int64_t bytes = std::max<std::int64_t>(static_cast<std::int64_t>(element_bytes), 1);
  const auto limit = static_cast<std::int64_t>(limit_bytes);
  for (int d = box.ndims - 1; d >= 0; --d) {
    const std::int64_t whole = std::max<std::int64_t>(box.extent(d), 1);
    const std::int64_t most = std::clamp<std::int64_t>(limit / bytes, 1, whole);
    const std::int64_t bricks = (whole + most - 1) / most;
    extents[d] = (whole + bricks - 1) / bricks;
    // Once a dimension is cut, the slower ones have extent 1, or a brick would not be contiguous.
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
    // Increments like an odometer, the fastest dimension first.
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
