// A box of array elements, and the arithmetic of boxes: plain numbers, no HDF5.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: the views of plugin.h. After it: tiling.hpp, pieces.hpp, gather.hpp.
#pragma once

#include <damaris/plugin.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace damaris {

using Extents = std::array<std::int64_t, DC_MAX_DIMS>;

// The elements low[d] .. high[d]-1 of each dimension, slowest dimension first. Only the first `ndims` entries count.
struct Box {
  int ndims = 0;
  Extents low = {}, high = {};

  std::int64_t extent(int dimension) const { return high[dimension] - low[dimension]; }
};

bool operator==(const Box& a, const Box& b);

// Number of elements, saturating at the int64 maximum; 1 for a box without dimensions (a scalar), 0 for an empty one.
std::int64_t volume(const Box& box);

bool overlap(const Box& a, const Box& b);

// Has volume 0 if they do not overlap.
Box intersection(const Box& a, const Box& b);

// The smallest box around all of `boxes`, which must not be empty.
Box bounding_box(const std::vector<Box>& boxes);

// " (3,0) to (5,7)": zero-based first and last element of each dimension, slowest first.
std::string box_text(const Box& box);

// `box` minus `hole`: boxes that do not overlap, at most two per dimension.
std::vector<Box> subtract(Box box, const Box& hole);

}  // namespace damaris
