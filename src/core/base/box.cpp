#include "core/base/box.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace damaris {
namespace {

// The dimension with the most distinct low ends: a sweep along it has the fewest candidates.
int sweep_dimension(const std::vector<Box>& boxes) {
  int best = 0;
  std::size_t most = 0;
  for (int d = 0; d < boxes.front().ndims; ++d) {
    std::vector<std::int64_t> lows;
    for (const Box& box : boxes) lows.push_back(box.low[d]);
    std::sort(lows.begin(), lows.end());
    const auto different = static_cast<std::size_t>(std::unique(lows.begin(), lows.end()) - lows.begin());
    if (different > most) {
      most = different;
      best = d;
    }
  }
  return best;
}

std::vector<std::size_t> order_along(const std::vector<Box>& boxes, int d) {
  std::vector<std::size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return boxes[a].low[d] < boxes[b].low[d]; });
  return order;
}

bool share_more_than_face(const Box& a, const Box& b) {
  const Box both = intersection(a, b);
  for (int d = 0; d < both.ndims; ++d)
    if (both.extent(d) == 1 && (a.extent(d) > 1 || b.extent(d) > 1)) return false;
  return true;
}

}  // namespace

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

std::vector<std::vector<std::size_t>> earlier_overlaps(const std::vector<Box>& boxes) {
  if (boxes.empty()) return {};
  const int d = sweep_dimension(boxes);
  const std::vector<std::size_t> order = order_along(boxes, d);
  std::vector<std::vector<std::size_t>> earlier(boxes.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t j = i + 1; j < order.size() && boxes[order[j]].low[d] < boxes[order[i]].high[d]; ++j) {
      const auto [first, second] = std::minmax(order[i], order[j]);
      if (overlap(boxes[first], boxes[second])) earlier[second].push_back(first);
    }
  return earlier;
}

std::vector<Contest> contests(const std::vector<Box>& boxes) {
  std::vector<Contest> found;
  std::vector<std::size_t> unlike;  // the first of each that are equal
  std::map<std::pair<Extents, Extents>, std::size_t> known;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const auto [first, is_new] = known.emplace(std::make_pair(boxes[i].low, boxes[i].high), i);
    if (is_new)
      unlike.push_back(i);
    else if (volume(boxes[i]) > 0)
      found.push_back({first->second, i, boxes[i]});
  }
  std::vector<Box> different;
  for (const std::size_t i : unlike) different.push_back(boxes[i]);
  const std::vector<std::vector<std::size_t>> earlier = earlier_overlaps(different);
  for (std::size_t second = 0; second < different.size(); ++second)
    for (const std::size_t first : earlier[second])
      if (share_more_than_face(different[first], different[second]))
        found.push_back({unlike[first], unlike[second], intersection(different[first], different[second])});
  std::sort(found.begin(), found.end(), [](const Contest& a, const Contest& b) {
    return std::make_pair(a.second, a.first) < std::make_pair(b.second, b.first);
  });
  return found;
}

}  // namespace damaris
