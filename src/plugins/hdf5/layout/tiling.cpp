#include "tiling.hpp"

#include <algorithm>

#include "core/base/box.hpp"

namespace damaris::hdf5 {
namespace {

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
