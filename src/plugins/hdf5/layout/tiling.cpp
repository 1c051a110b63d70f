#include "tiling.hpp"

#include <algorithm>
#include <numeric>

namespace damaris::hdf5 {
namespace {

// The dimension with the most distinct low ends: a sweep along it has the fewest candidates.
int sweep_dimension(const std::vector<Box>& blocks) {
  int best = 0;
  std::size_t most = 0;
  for (int d = 0; d < blocks.front().ndims; ++d) {
    std::vector<std::int64_t> lows;
    for (const Box& block : blocks) lows.push_back(block.low[d]);
    std::sort(lows.begin(), lows.end());
    const auto different = static_cast<std::size_t>(std::unique(lows.begin(), lows.end()) - lows.begin());
    if (different > most) {
      most = different;
      best = d;
    }
  }
  return best;
}

std::vector<std::size_t> order_along(const std::vector<Box>& blocks, int d) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return blocks[a].low[d] < blocks[b].low[d]; });
  return order;
}

// For each block, the earlier ones that overlap it.
std::vector<std::vector<std::size_t>> earlier_overlaps(const std::vector<Box>& blocks) {
  const int d = sweep_dimension(blocks);
  const std::vector<std::size_t> order = order_along(blocks, d);
  std::vector<std::vector<std::size_t>> earlier(blocks.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t j = i + 1; j < order.size() && blocks[order[j]].low[d] < blocks[order[i]].high[d]; ++j) {
      const auto [first, second] = std::minmax(order[i], order[j]);
      if (overlap(blocks[first], blocks[second])) earlier[second].push_back(first);
    }
  return earlier;
}

std::vector<Tile> tiles_without_overlap(const std::vector<Box>& blocks) {
  std::vector<Tile> tiles;
  const std::vector<std::vector<std::size_t>> earlier = earlier_overlaps(blocks);
  tiles.reserve(blocks.size());
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    if (earlier[block].empty()) {
      if (volume(blocks[block]) > 0) tiles.push_back({block, blocks[block]});
      continue;
    }
    std::vector<Box> left = {blocks[block]};
    for (const std::size_t winner : earlier[block]) {
      std::vector<Box> rest;
      for (const Box& box : left)
        for (const Box& remaining : subtract(box, blocks[winner])) rest.push_back(remaining);
      left = std::move(rest);
    }
    for (const Box& box : left)
      if (volume(box) > 0) tiles.push_back({block, box});
  }
  return tiles;
}

// Orders boxes so that those that may be merged along `d` are adjacent.
bool before_along(const Box& a, const Box& b, int d) {
  for (int other = 0; other < a.ndims; ++other) {
    if (other == d) continue;
    if (a.low[other] != b.low[other]) return a.low[other] < b.low[other];
    if (a.high[other] != b.high[other]) return a.high[other] < b.high[other];
  }
  return a.low[d] < b.low[d];
}

bool touch_along(const Box& a, const Box& b, int d) {
  for (int other = 0; other < a.ndims; ++other)
    if (other != d && (a.low[other] != b.low[other] || a.high[other] != b.high[other])) return false;
  return a.high[d] == b.low[d];
}

// Merges boxes that share a whole face perpendicular to dimension `d`. Returns whether any were merged.
bool merge_along(std::vector<JoinedBox>& boxes, int d) {
  std::sort(boxes.begin(), boxes.end(), [d](const JoinedBox& a, const JoinedBox& b) { return before_along(a.box, b.box, d); });
  std::vector<JoinedBox> merged;
  for (JoinedBox& next : boxes) {
    if (merged.empty() || !touch_along(merged.back().box, next.box, d)) {
      merged.push_back(std::move(next));
      continue;
    }
    merged.back().box.high[d] = next.box.high[d];
    merged.back().tiles.insert(merged.back().tiles.end(), next.tiles.begin(), next.tiles.end());
  }
  const bool any = merged.size() < boxes.size();
  boxes = std::move(merged);
  return any;
}

std::vector<JoinedBox> merge(const std::vector<Tile>& tiles) {
  std::vector<JoinedBox> boxes;
  for (const Tile& tile : tiles) boxes.push_back({tile.box, {tile}});
  for (bool again = true; again;) {
    again = false;
    // The fastest dimension first: long rows are cheapest to write and read.
    for (int d = tiles.front().box.ndims - 1; d >= 0; --d) again = merge_along(boxes, d) || again;
  }
  return boxes;
}

void put_in_order(std::vector<JoinedBox>& boxes) {
  std::sort(boxes.begin(), boxes.end(), [](const JoinedBox& a, const JoinedBox& b) { return a.box.low < b.box.low; });
  for (JoinedBox& box : boxes)
    std::stable_sort(box.tiles.begin(), box.tiles.end(), [](const Tile& a, const Tile& b) { return a.block < b.block; });
}

}  // namespace

std::vector<JoinedBox> join(const std::vector<Box>& blocks) {
  if (blocks.empty()) return {};
  const std::vector<Tile> tiles = tiles_without_overlap(blocks);
  if (tiles.empty()) return {};
  std::vector<Box> boxes;
  std::int64_t elements = 0;
  for (const Tile& tile : tiles) {
    boxes.push_back(tile.box);
    elements += volume(tile.box);
  }
  const Box bound = bounding_box(boxes);
  if (volume(bound) == elements) return {{bound, tiles}};
  std::vector<JoinedBox> joined = merge(tiles);
  put_in_order(joined);
  return joined;
}

}  // namespace damaris::hdf5
