#include "gather.hpp"

#include <algorithm>
#include <cstring>

namespace damaris::hdf5 {
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
