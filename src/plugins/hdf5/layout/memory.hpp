// How large the parts are that the plugin takes at a time, chunks and bricks, and how much memory it may take beyond the region.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: memory="..." of <hdf5>, pieces.hpp. After it: the writers' buffers, one brick at a time; the views of the run; the manifest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "core/base/box.hpp"

namespace damaris::hdf5 {

class MemoryBound {
 public:
  explicit MemoryBound(std::uint64_t bytes) : bytes_(bytes) {}

  // For the chunks that are compressed at the same time. Buffers stay: of small chunks for many threads, and of large ones for few, so that
  // this is taken twice at most.
  std::uint64_t codec_bytes() const { return bytes_ / 4; }
  // For the manifest of the run, and what HDF5 needs to make the master file of it.
  std::uint64_t views_bytes() const { return bytes_ / 2; }

 private:
  std::uint64_t bytes_;
};

// A chunk on its way: gathered, rounded, clipped, in byte planes, compressed.
constexpr std::uint64_t kCopiesOfChunk = 5;

// Of `extents`, halved in its slowest dimensions until one chunk can be compressed within `codec_bytes`; at least one element.
Extents cut_to(Extents extents, int ndims, std::size_t element_bytes, std::uint64_t codec_bytes);
// How many chunks may be compressed at the same time: 1 to `most`.
std::size_t lanes_within(std::uint64_t codec_bytes, std::uint64_t chunk_bytes, std::size_t most);

// HDF5 crashes on an allocation that fails: throws Failure, ENOMEM, where the process can get too little for a file.
void require_memory_for_file(const std::string& path);

// What the process holds beyond files and shared memory, in bytes; 0 where the system does not say.
std::uint64_t resident_bytes();

// Fits the cache between copy, filter and write, and the chunk cache that readers have by default; large enough that the cost of a
// write does not count.
constexpr std::size_t kBrickBytes = std::size_t{1} << 20;

// Extents of the bricks of `box`: whole in the fastest dimensions, cut in the slower ones as evenly as goes, at most `limit_bytes`
// unless one element is larger. So each brick of an unfiltered dataset is one run in the file. All are 1 or more.
Extents brick_extents(const Box& box, std::size_t element_bytes, std::size_t limit_bytes = kBrickBytes);

// Calls `visit` for each brick in the order of the file; the last ones of a dimension may be smaller. No call for an empty box.
void for_each_brick(const Box& box, const Extents& extents, const std::function<void(const Box&)>& visit);

}  // namespace damaris::hdf5
