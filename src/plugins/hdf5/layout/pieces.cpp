#include "pieces.hpp"

#include <algorithm>
#include <cstring>

#include "core/base/box.hpp"
#include "memory.hpp"

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

std::vector<JoinedBox> join_or_first(const std::vector<Box>& blocks) {
  std::vector<JoinedBox> joined = join(blocks);
  if (joined.empty() && !blocks.empty()) joined.push_back({blocks.front(), {{0, blocks.front()}}});
  return joined;
}

std::string source_name(std::int32_t source, std::int32_t block) {
  return std::to_string(source) + (block == 0 ? "" : "." + std::to_string(block));
}

namespace {

// The blocks of one variable, which are consecutive in a step.
struct Blocks {
  const dc_dataset_t* begin;
  const dc_dataset_t* end;
};

Blocks blocks_of_next(const dc_dataset_t* begin, const dc_dataset_t* end) {
  return {begin, std::find_if(begin, end, [&](const dc_dataset_t& block) { return block.variable->id != begin->variable->id; })};
}

bool can_be_joined(const Blocks& blocks) {
  return blocks.begin->variable->ndims > 0 &&
         std::all_of(blocks.begin, blocks.end, [](const dc_dataset_t& block) { return block.has_position != 0; });
}

// Larger blocks become separate datasets.
constexpr std::uint64_t kStackedBytes = std::uint64_t{64} << 10;

bool is_plain(const dc_variable_info_t& variable) {
  return variable.reduction.precision == DC_EXACT && variable.reduction.codec == DC_CODEC_NONE && variable.chunk[0] == 0;
}

bool has_ghosts(const dc_dataset_t& block) {
  const auto is_zero = [](std::int64_t width) { return width == 0; };
  const int ndims = block.variable->ndims;
  return !std::all_of(block.ghost_low, block.ghost_low + ndims, is_zero) ||
         !std::all_of(block.ghost_high, block.ghost_high + ndims, is_zero);
}

bool can_be_stacked(const Blocks& blocks) {
  const dc_dataset_t& first = *blocks.begin;
  const dc_variable_info_t& variable = *first.variable;
  if (blocks.end - blocks.begin < 2 || variable.ndims >= DC_MAX_DIMS || !is_plain(variable)) return false;
  if (first.bytes == 0 || first.bytes > kStackedBytes) return false;
  return std::all_of(blocks.begin, blocks.end, [&](const dc_dataset_t& block) {
    return block.has_position == 0 && !has_ghosts(block) &&
           std::equal(block.extents, block.extents + variable.ndims, first.extents);
  });
}

void add_stack(const Blocks& blocks, std::vector<Piece>& pieces) {
  const dc_variable_info_t& variable = *blocks.begin->variable;
  Piece piece = {variable.path, &variable, false, false, {variable.ndims + 1, {}, {}}, {}, true};
  std::copy_n(blocks.begin->extents, variable.ndims, piece.box.high.begin() + 1);
  piece.parts.reserve(static_cast<std::size_t>(blocks.end - blocks.begin));
  for (const dc_dataset_t* block = blocks.begin; block != blocks.end; ++block) {
    Box slab = piece.box;
    slab.low[0] = block - blocks.begin;
    slab.high[0] = slab.low[0] + 1;
    piece.parts.push_back({block, slab});
  }
  piece.box.high[0] = blocks.end - blocks.begin;
  pieces.push_back(std::move(piece));
}

void add_one_per_block(const Blocks& blocks, std::vector<Piece>& pieces) {
  for (const dc_dataset_t* block = blocks.begin; block != blocks.end; ++block) {
    const Box box = interior(*block);
    pieces.push_back({std::string(block->variable->path) + "/" + source_name(block->source, block->block),
                      block->variable,
                      false,
                      block->has_position != 0,
                      box,
                      {{block, box}},
                      false});
  }
}

void add_joined(const Blocks& blocks, std::vector<Piece>& pieces) {
  std::vector<Box> interiors;
  interiors.reserve(static_cast<std::size_t>(blocks.end - blocks.begin));
  for (const dc_dataset_t* block = blocks.begin; block != blocks.end; ++block) interiors.push_back(interior(*block));
  const std::vector<JoinedBox> boxes = join_or_first(interiors);
  for (std::size_t k = 0; k < boxes.size(); ++k) {
    const std::string path = blocks.begin->variable->path;
    Piece piece;
    piece.path = boxes.size() == 1 ? path : path + "/box" + std::to_string(k);
    piece.variable = blocks.begin->variable;
    piece.joined = piece.has_position = true;
    piece.box = boxes[k].box;
    piece.parts.reserve(boxes[k].tiles.size());
    for (const Tile& tile : boxes[k].tiles) piece.parts.push_back({blocks.begin + tile.block, tile.box});
    pieces.push_back(std::move(piece));
  }
}

}  // namespace

bool has_own_chunk(const Piece& piece) { return piece.box.ndims > 0 && piece.variable->chunk[0] > 0; }

Extents chunk_of(const Piece& piece) {
  if (!has_own_chunk(piece)) return brick_extents(piece.box, piece.variable->element_bytes);
  Extents extents = {};
  for (int d = 0; d < piece.box.ndims; ++d)
    extents[d] = std::min(piece.variable->chunk[d], std::max<std::int64_t>(piece.box.extent(d), 1));
  return extents;
}

Extents chunk_of(const Piece& piece, std::uint64_t codec_bytes) {
  return cut_to(chunk_of(piece), piece.box.ndims, piece.variable->element_bytes, codec_bytes);
}

Box interior(const dc_dataset_t& block) {
  Box box;
  box.ndims = block.variable->ndims;
  for (int d = 0; d < box.ndims; ++d) {
    box.low[d] = block.has_position != 0 ? block.position[d] : 0;
    box.high[d] = box.low[d] + std::max<std::int64_t>(block.extents[d] - block.ghost_low[d] - block.ghost_high[d], 0);
  }
  return box;
}

Box in_memory(const Piece& piece, const Part& part) {
  if (piece.stacked) return part.box;
  Box box = interior(*part.block);
  for (int d = 0; d < box.ndims; ++d) {
    box.low[d] -= part.block->ghost_low[d];
    box.high[d] = box.low[d] + part.block->extents[d];
  }
  return box;
}

std::vector<Piece> pieces_of(const dc_step_t& step) {
  std::vector<Piece> pieces;
  const dc_dataset_t* const end = step.datasets + step.dataset_count;
  for (const dc_dataset_t* next = step.datasets; next != end;) {
    const Blocks blocks = blocks_of_next(next, end);
    if (can_be_joined(blocks)) {
      add_joined(blocks, pieces);
    } else if (can_be_stacked(blocks)) {
      add_stack(blocks, pieces);
    } else {
      add_one_per_block(blocks, pieces);
    }
    next = blocks.end;
  }
  const auto before = [](const Piece& a, const Piece& b) { return a.variable->priority > b.variable->priority; };
  std::stable_sort(pieces.begin(), pieces.end(), before);
  return pieces;
}

namespace {

using Strides = std::array<std::size_t, DC_MAX_DIMS>;

Strides strides_of(const Box& box, std::size_t element_bytes) {
  Strides strides = {};
  std::size_t stride = element_bytes;
  for (int d = box.ndims - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= static_cast<std::size_t>(box.extent(d));
  }
  return strides;
}

std::size_t offset_of(const Box& box, const Box& region, const Strides& strides) {
  std::size_t offset = 0;
  for (int d = 0; d < box.ndims; ++d) offset += static_cast<std::size_t>(region.low[d] - box.low[d]) * strides[d];
  return offset;
}

// The first of the fastest dimensions over which the region is contiguous in both arrays, to make copies as long as possible.
int first_dimension_of_run(const Box& to, const Box& from, const Box& region) {
  int d = region.ndims - 1;
  while (d > 0 && region.extent(d) == to.extent(d) && region.extent(d) == from.extent(d)) --d;
  return d;
}

struct StridedCopy {
  const Box& region;
  Strides to, from;
  int run_dimension;
  std::size_t run_bytes;

  void operator()(std::byte* target, const std::byte* source, int d) const {
    if (d == run_dimension) {
      std::memcpy(target, source, run_bytes);
      return;
    }
    for (std::int64_t i = 0; i < region.extent(d); ++i, target += to[d], source += from[d]) (*this)(target, source, d + 1);
  }
};

}  // namespace

void copy_region(const Array& to, const ConstArray& from, const Box& region, std::size_t element_bytes) {
  if (volume(region) == 0) return;
  if (region.ndims == 0) {
    std::memcpy(to.data, from.data, element_bytes);
    return;
  }
  StridedCopy copy = {region, strides_of(to.box, element_bytes), strides_of(from.box, element_bytes),
                      first_dimension_of_run(to.box, from.box, region), 0};
  copy.run_bytes = static_cast<std::size_t>(region.extent(copy.run_dimension)) * copy.to[copy.run_dimension];
  copy(to.data + offset_of(to.box, region, copy.to), from.data + offset_of(from.box, region, copy.from), 0);
}

bool is_contiguous(const Box& array, const Box& region, std::size_t element_bytes, std::size_t& offset_bytes) {
  offset_bytes = offset_of(array, region, strides_of(array, element_bytes));
  int d = 0;
  while (d < region.ndims && region.extent(d) == 1) ++d;
  // Of the remaining dimensions, only the first may be cut.
  for (++d; d < region.ndims; ++d)
    if (region.extent(d) != array.extent(d)) return false;
  return true;
}

namespace {

const std::byte* bytes_of(const dc_dataset_t& block) { return static_cast<const std::byte*>(block.data); }

std::byte* room_for(const Piece& piece, const Box& box, Staging& staging) {
  const std::size_t bytes = static_cast<std::size_t>(volume(box)) * piece.variable->element_bytes;
  if (staging.size() < bytes) staging.resize(bytes);
  return staging.data();
}

// Blocks are small and scattered, so the hardware does not prefetch them.
void prefetch(const dc_dataset_t& block) {
  constexpr std::size_t kLine = 64, kMost = 4096;
  for (std::size_t i = 0; i < std::min<std::size_t>(block.bytes, kMost); i += kLine) __builtin_prefetch(bytes_of(block) + i);
}

struct PartRange {
  const Part *first, *last;
  const Part* begin() const { return first; }
  const Part* end() const { return last; }
};

// The parts that may intersect the box: of a stack, only the matching layers.
PartRange parts_near(const Piece& piece, const Box& box) {
  const Part* const first = piece.parts.data();
  if (!piece.stacked) return {first, first + piece.parts.size()};
  return {first + box.low[0], first + box.high[0]};
}

void gather(const Piece& piece, const Box& box, const Array& target) {
  const PartRange parts = parts_near(piece, box);
  for (const Part& part : parts) {
    const Box shared = intersection(part.box, box);
    if (volume(shared) == 0) continue;
    if (&part + 1 != parts.end()) prefetch(*(&part + 1)->block);
    copy_region(target, {bytes_of(*part.block), in_memory(piece, part)}, shared, piece.variable->element_bytes);
  }
}

}  // namespace

const std::byte* in_place(const Piece& piece, const Box& box) {
  for (const Part& part : parts_near(piece, box)) {
    if (!(intersection(part.box, box) == box)) continue;
    std::size_t offset = 0;
    const bool run = is_contiguous(in_memory(piece, part), box, piece.variable->element_bytes, offset);
    return run ? bytes_of(*part.block) + offset : nullptr;
  }
  return nullptr;
}

const std::byte* elements_of(const Piece& piece, const Box& box, Staging& staging) {
  if (const std::byte* there = in_place(piece, box)) return there;
  std::byte* room = room_for(piece, box, staging);
  gather(piece, box, {room, box});
  return room;
}

}  // namespace damaris::hdf5
