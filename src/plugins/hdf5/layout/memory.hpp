// The sizes of chunks and bricks, and the plugin's limit of memory beyond the region.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: memory="..." of <hdf5>, pieces.hpp. After it: the writers' buffers, one brick at a time; the views of the run; the manifest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/base/box.hpp"

namespace damaris::hdf5 {

class MemoryBound {
 public:
  explicit MemoryBound(std::uint64_t bytes) : bytes_(bytes) {}

  // For the chunks that are compressed at the same time. Buffers are kept, of small chunks for many threads and of large ones for few, so at
  // most twice this amount is used.
  std::uint64_t codec_bytes() const { return bytes_ / 4; }
  // For the manifest of the run, and HDF5's memory while it writes the master file.
  std::uint64_t views_bytes() const { return bytes_ / 2; }

 private:
  std::uint64_t bytes_;
};

// The copies of a chunk while it is processed: gathered, rounded, clipped, in byte planes, compressed.
constexpr std::uint64_t kCopiesOfChunk = 5;

// `extents`, halved in the slowest dimensions until a chunk can be compressed within `codec_bytes`; at least one element.
Extents cut_to(Extents extents, int ndims, std::size_t element_bytes, std::uint64_t codec_bytes);
// The number of chunks that may be compressed at the same time: 1 to `most`.
std::size_t lanes_within(std::uint64_t codec_bytes, std::uint64_t chunk_bytes, std::size_t most);

// The anonymous resident memory of the process, in bytes; 0 if unknown.
std::uint64_t resident_bytes();

// Stays in the cache between copy, filter and write, and fits readers' default chunk cache; large enough to make the cost per write
// negligible.
constexpr std::size_t kBrickBytes = std::size_t{1} << 20;

// The extents of the bricks of `box`: whole in the fastest dimensions, cut as evenly as possible in the slower ones, at most `limit_bytes`
// unless one element is larger. So each brick of an unfiltered dataset is contiguous in the file. All extents are at least 1.
Extents brick_extents(const Box& box, std::size_t element_bytes, std::size_t limit_bytes = kBrickBytes);

// Calls `visit` for each brick in file order; the last ones of a dimension may be smaller. No calls for an empty box.
void for_each_brick(const Box& box, const Extents& extents, const std::function<void(const Box&)>& visit);

}  // namespace damaris::hdf5
