#include "core/base/overlaps.hpp"

#include <algorithm>
#include <numeric>

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
  const std::vector<std::vector<std::size_t>> earlier = earlier_overlaps(boxes);
  for (std::size_t second = 0; second < boxes.size(); ++second) {
    std::vector<std::size_t> others = earlier[second];
    std::sort(others.begin(), others.end());
    const auto same = std::find_if(others.begin(), others.end(), [&](std::size_t other) { return boxes[other] == boxes[second]; });
    if (same != others.end()) others = {*same};
    for (const std::size_t first : others)
      if (share_more_than_face(boxes[first], boxes[second]))
        found.push_back({first, second, intersection(boxes[first], boxes[second])});
  }
  return found;
}

}  // namespace damaris
