// Cuts a box into bricks of up to 1 MiB: the chunks of a filtered dataset, the steps in which any other is written.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: pieces.hpp. After it: dataset_writer.hpp fills and writes one brick at a time.
#pragma once

#include <cstddef>
#include <functional>

#include "core/base/box.hpp"

namespace damaris::hdf5 {

// Fits the cache between copy, filter and write, and the chunk cache that readers have by default; large enough that the cost of a
// write does not count.
constexpr std::size_t kBrickBytes = std::size_t{1} << 20;

// Extents of the bricks of `box`: whole in the fastest dimensions, cut in the slower ones as evenly as goes, at most `limit_bytes`
// unless one element is larger. So each brick of an unfiltered dataset is one run in the file. All are 1 or more.
Extents brick_extents(const Box& box, std::size_t element_bytes, std::size_t limit_bytes = kBrickBytes);

// Calls `visit` for each brick in the order of the file; the last ones of a dimension may be smaller. No call for an empty box.
void for_each_brick(const Box& box, const Extents& extents, const std::function<void(const Box&)>& visit);

}  // namespace damaris::hdf5
