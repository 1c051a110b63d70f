#include "chunk_grid.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "../layout/memory.hpp"

namespace damaris::hdf5 {
namespace {

// Smaller chunks cost more than the exchange of values that they save.
constexpr std::uint64_t kLeastChunkBytes = std::uint64_t{64} << 10;

Piece piece_of(const SharedDataset& one) { return {one.path, one.variable, one.joined, one.has_position, one.whole, {}}; }

std::uint64_t bytes_of(const Extents& extents, const SharedDataset& dataset) {
  std::uint64_t bytes = dataset.variable->element_bytes;
  for (int d = 0; d < dataset.whole.ndims; ++d) bytes *= static_cast<std::uint64_t>(extents[d]);
  return bytes;
}

using Boxes = std::vector<std::vector<Box>>;  // by member

// The greatest extent of a grid on which the borders between members lie; that of the dataset where there is none.
std::int64_t aligned_extent(const SharedDataset& dataset, const Boxes& boxes, int d) {
  std::int64_t divisor = 0;
  for (const std::vector<Box>& of_member : boxes)
    for (const Box& box : of_member)
      for (const std::int64_t border : {box.low[d], box.high[d]})
        if (border != dataset.whole.high[d]) divisor = std::gcd(divisor, border - dataset.whole.low[d]);
  return divisor > 0 ? divisor : std::max<std::int64_t>(dataset.whole.extent(d), 1);
}

std::int64_t largest_extent(const Boxes& boxes, int d) {
  std::int64_t most = 1;
  for (const std::vector<Box>& of_member : boxes)
    for (const Box& box : of_member) most = std::max(most, box.extent(d));
  return most;
}

// Where borders lie on no grid that is coarse enough, as with 100 rows for three members, the chunks are as large as the largest box: then
// a chunk has few values of a second member.
Extents extents_by(const SharedDataset& dataset, const Boxes& boxes) {
  Extents aligned = {}, coarse = {};
  for (int d = 0; d < dataset.whole.ndims; ++d) {
    aligned[d] = aligned_extent(dataset, boxes, d);
    const std::int64_t largest = largest_extent(boxes, d);
    coarse[d] = aligned[d] >= largest / 2 ? aligned[d] : largest;
  }
  return bytes_of(aligned, dataset) >= kLeastChunkBytes ? aligned : coarse;
}

// `extent` in equal parts of at most `most`; if it has no such divisor, in about equal ones.
std::int64_t part_within(std::int64_t extent, std::int64_t most) {
  const std::int64_t fewest = std::max<std::int64_t>((extent + most - 1) / most, 1);
  for (std::int64_t parts = fewest; parts <= 2 * fewest; ++parts)
    if (extent % parts == 0) return extent / parts;
  return (extent + fewest - 1) / fewest;
}

// Cuts the slowest dimensions, into equal parts, until a chunk has at most `limit` bytes.
Extents cut_evenly(Extents extents, const SharedDataset& dataset, std::uint64_t limit) {
  for (int d = 0; d < dataset.whole.ndims && bytes_of(extents, dataset) > limit; ++d) {
    const std::uint64_t row = bytes_of(extents, dataset) / static_cast<std::uint64_t>(extents[d]);
    extents[d] = part_within(extents[d], static_cast<std::int64_t>(std::max<std::uint64_t>(limit / row, 1)));
  }
  return extents;
}

Box chunk_at(const Box& part, const Box& whole, const Extents& chunk) {
  Box at = part;
  for (int d = 0; d < part.ndims; ++d) {
    at.low[d] = part.low[d] - (part.low[d] - whole.low[d]) % chunk[d];
    at.high[d] = std::min(at.low[d] + chunk[d], whole.high[d]);
  }
  return at;
}

// Calls `visit` for each chunk that overlaps the box.
template <class Visit>
void for_each_chunk(const Box& box, const Box& whole, const Extents& chunk, Visit&& visit) {
  if (volume(box) == 0) return;
  Box aligned = box;
  for (int d = 0; d < box.ndims; ++d) aligned.low[d] -= (box.low[d] - whole.low[d]) % chunk[d];
  for_each_brick(aligned, chunk, [&](const Box& part) { visit(chunk_at(part, whole, chunk), intersection(part, box)); });
}

int owner_of(const std::vector<ChunkShare>& shares) {
  std::map<int, std::int64_t> values;
  for (const ChunkShare& share : shares) values[share.member] += volume(share.part);
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(values.begin(), values.end(), less)->first;  // the lowest of several
}

}  // namespace

Extents grid_of(const SharedDataset& dataset, int members, std::uint64_t codec_bytes) {
  const Piece piece = piece_of(dataset);
  if (has_own_chunk(piece)) return chunk_of(piece, codec_bytes);
  const std::uint64_t limit = std::min<std::uint64_t>(kBrickBytes, codec_bytes / kCopiesOfChunk);
  return cut_evenly(extents_by(dataset, boxes_by_member(dataset, members)), dataset, limit);
}

std::vector<SharedChunk> chunks_of(const SharedDataset& dataset, const Extents& chunk, int members) {
  std::map<Extents, SharedChunk> chunks;  // by low corner
  const Boxes boxes = boxes_by_member(dataset, members);
  for (int member = 0; member < members; ++member)
    for (std::size_t i = 0; i < boxes[static_cast<std::size_t>(member)].size(); ++i)
      for_each_chunk(boxes[static_cast<std::size_t>(member)][i], dataset.whole, chunk, [&](const Box& brick, const Box& part) {
        SharedChunk& one = chunks[brick.low];
        one.brick = brick;
        one.shares.push_back({member, i, part});
      });
  std::vector<SharedChunk> all;
  all.reserve(chunks.size());
  for (auto& [low, one] : chunks) {
    one.owner = owner_of(one.shares);
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace damaris::hdf5
