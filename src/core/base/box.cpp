#include "core/base/box.hpp"

#include <algorithm>
#include <limits>

namespace damaris {

bool operator==(const Box& a, const Box& b) {
  const auto same = [&](const Extents& x, const Extents& y) { return std::equal(x.begin(), x.begin() + a.ndims, y.begin()); };
  return a.ndims == b.ndims && same(a.low, b.low) && same(a.high, b.high);
}

std::int64_t volume(const Box& box) {
  std::int64_t elements = 1;
  bool too_many = false;
  for (int d = 0; d < box.ndims; ++d) {
    if (box.high[d] <= box.low[d]) return 0;
    std::int64_t extent = 0;
    too_many = __builtin_sub_overflow(box.high[d], box.low[d], &extent) || too_many;
    too_many = __builtin_mul_overflow(elements, extent, &elements) || too_many;
  }
  return too_many ? std::numeric_limits<std::int64_t>::max() : elements;
}

bool overlap(const Box& a, const Box& b) { return volume(intersection(a, b)) > 0; }

Box intersection(const Box& a, const Box& b) {
  Box both = a;
  for (int d = 0; d < a.ndims; ++d) {
    both.low[d] = std::max(a.low[d], b.low[d]);
    both.high[d] = std::max(both.low[d], std::min(a.high[d], b.high[d]));
  }
  return both;
}

Box bounding_box(const std::vector<Box>& boxes) {
  Box bound = boxes.front();
  for (const Box& box : boxes)
    for (int d = 0; d < bound.ndims; ++d) {
      bound.low[d] = std::min(bound.low[d], box.low[d]);
      bound.high[d] = std::max(bound.high[d], box.high[d]);
    }
  return bound;
}

std::string box_text(const Box& box) {
  std::string first, last;
  for (int d = 0; d < box.ndims; ++d) {
    first += (d == 0 ? "" : ",") + std::to_string(box.low[d]);
    last += (d == 0 ? "" : ",") + std::to_string(box.high[d] - 1);
  }
  return " (" + first + ") to (" + last + ")";
}

std::vector<Box> subtract(Box box, const Box& hole) {
  const Box cut = intersection(box, hole);
  if (volume(cut) == 0) return {box};
  std::vector<Box> rest;
  // Slice off what lies below and above the hole, one dimension after the other; `box` shrinks to the hole.
  for (int d = 0; d < box.ndims; ++d) {
    Box below = box, above = box;
    below.high[d] = cut.low[d];
    above.low[d] = cut.high[d];
    if (below.extent(d) > 0) rest.push_back(below);
    if (above.extent(d) > 0) rest.push_back(above);
    box.low[d] = cut.low[d];
    box.high[d] = cut.high[d];
  }
  return rest;
}

}  // namespace damaris
