// Which of many boxes overlap.
// Used by: the hdf5 plugin, on the server's work thread; `damaris verify`.
// Before it: the boxes of a variable's blocks or datasets. After it: who has an element that several have.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/box.hpp"

namespace damaris {

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
