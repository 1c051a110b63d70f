#include "piece_memory.hpp"

#include <algorithm>

#include "gather.hpp"

namespace damaris::hdf5 {
namespace {

const std::byte* bytes_of(const dc_dataset_t& block) { return static_cast<const std::byte*>(block.data); }

std::byte* room_for(const Piece& piece, const Box& box, Staging& staging) {
  const std::size_t bytes = static_cast<std::size_t>(volume(box)) * piece.variable->element_bytes;
  if (staging.size() < bytes) staging.resize(bytes);
  return staging.data();
}

// Blocks are small and lie apart, where the hardware does not look ahead.
void fetch(const dc_dataset_t& block) {
  constexpr std::size_t kLine = 64, kMost = 4096;
  for (std::size_t i = 0; i < std::min<std::size_t>(block.bytes, kMost); i += kLine) __builtin_prefetch(bytes_of(block) + i);
}

struct PartRange {
  const Part *first, *last;
  const Part* begin() const { return first; }
  const Part* end() const { return last; }
};

// Those that can have a share in the box: of a stack, its layers.
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
    if (&part + 1 != parts.end()) fetch(*(&part + 1)->block);
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

const std::byte* framed_elements_of(const Piece& piece, const Box& box, const Box& frame, Staging& staging) {
  if (box == frame) return elements_of(piece, box, staging);
  std::byte* room = room_for(piece, frame, staging);
  std::fill_n(room, static_cast<std::size_t>(volume(frame)) * piece.variable->element_bytes, std::byte{0});
  gather(piece, box, {room, frame});
  return room;
}

}  // namespace damaris::hdf5
