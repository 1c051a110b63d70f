// A box of array elements, the arithmetic of boxes, and which of many overlap: plain numbers, no HDF5.
// Used by: the hdf5 plugin, on the server's work thread; `damaris verify`.
// Before it: the views of plugin.h, or datasets. After it: pieces.hpp; who has an element that several have.
#pragma once

#include <damaris/plugin.h>

#include <array>
#include <cstddef>
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

// For each box, the earlier ones that overlap it.
std::vector<std::vector<std::size_t>> earlier_overlaps(const std::vector<Box>& boxes);

// Two boxes, by their indices, that have more in common than a face, as neighbours on a staggered grid share: in no dimension is the common
// part one element thick where one of them is thicker.
struct Contest {
  std::size_t first, second;
  Box common;
};
// In the order of `second`. A box that equals earlier ones is only compared with the first of these, as that covers it.
std::vector<Contest> contests(const std::vector<Box>& boxes);

}  // namespace damaris
