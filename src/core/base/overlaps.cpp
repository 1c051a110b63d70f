#include "core/base/overlaps.hpp"

#include <algorithm>
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
