// An arena: one client thread's part of the buffer. Only that thread reserves and only the server releases blocks: no lock, no system call.
// Used by: Arena by one client thread, or under the lock of a pool (pool.hpp); walk_arena by the server and by recovery.
// Before it: the layout determines the bytes. After it: the published block is announced through the lane.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>

#include "core/shm/block.hpp"

namespace damaris::shm {

// An arena has segments: equal parts, at most kSegments of them, each with a counter of the bytes released in it.

// log2 of the size of a segment: the smallest with which kSegments of them are enough.
constexpr unsigned segment_shift(std::uint64_t arena_bytes) noexcept {
  constexpr int kSegmentBits = 10;
  static_assert(kSegments == 1u << kSegmentBits);
  const int bits = 64 - __builtin_clzll(arena_bytes - 1) - kSegmentBits;
  return bits > static_cast<int>(kSmallestSegmentShift) ? static_cast<unsigned>(bits) : kSmallestSegmentShift;
}

// A whole arena of one segment has one counter.
constexpr bool has_segments(std::uint64_t arena_bytes) noexcept { return arena_bytes > std::uint64_t{1} << kSmallestSegmentShift; }

inline void count_release(LaneHeader& lane, std::uint64_t arena_bytes, std::uint64_t offset, std::uint64_t size_bytes) noexcept {
  if (has_segments(arena_bytes))
    lane.released_in[offset >> segment_shift(arena_bytes)].fetch_add(size_bytes, std::memory_order_release);
  lane.released.fetch_add(size_bytes, std::memory_order_release);
}

// Next fit: blocks are taken from the hole that was used last. Where that is too small, the search goes round the arena once. It visits
// only segments in which something has been released since their last visit, or which have a hole that is large enough, and merges
// adjacent free blocks there. So a block that stays is visited once for each release near it, however many stay.
class Arena {
 public:
  Arena() = default;
  // Initializes an arena of `bytes` at `base` (64-byte aligned, `bytes` a multiple of 64) as one free block.
  Arena(std::byte* base, std::uint64_t bytes, LaneHeader* lane);
  // An arena that another process has initialized; resume() sets its state.
  static Arena existing(std::byte* base, std::uint64_t bytes, LaneHeader* lane) noexcept;

  // Returns a reserved block of that form with room for `data_bytes`, or nullptr if no hole is large enough. Never blocks.
  BlockHeader* try_reserve(std::uint64_t data_bytes, Form form = {}) noexcept;
  // Releases a block that is not published: reserved, or answered.
  void cancel(BlockHeader& block) noexcept;

  // True if such a block would fit into the empty arena.
  bool can_ever_hold(std::uint64_t data_bytes, Form form = {}) const noexcept {
    return data_bytes <= bytes_ && block_bytes(data_bytes, form) <= bytes_;
  }

  std::byte* base() const noexcept { return base_; }
  std::uint64_t size_bytes() const noexcept { return bytes_; }
  // Without what the server has released; the next try_reserve sees at least these releases. The whole arena while a block that has been
  // reserved again is not counted as released yet. After rebuild() it may be too small while blocks are being released.
  std::uint64_t used_bytes() const noexcept {
    const auto used = static_cast<std::int64_t>(state_.reserved_bytes - lane_->released.load(std::memory_order_relaxed));
    return static_cast<std::uint64_t>(std::clamp<std::int64_t>(used, 0, static_cast<std::int64_t>(bytes_)));
  }
  bool more_than_half_full() const noexcept { return used_bytes() * 2 > bytes_; }
  // Data bytes that fit into the largest hole with a header of this form.
  std::uint64_t largest_hole_bytes(Form form = kAllLists) noexcept;
  // Sets the owner recorded in the header of each block that is reserved from now on.
  void set_owner(std::uint32_t owner) noexcept { owner_ = owner; }
  // Block headers that searches have visited so far.
  std::uint64_t visited_blocks() const noexcept { return visited_; }

  // For an arena that several processes use in turn: each resumes from the state and the index that the previous one left.
  const ArenaState& state() const noexcept { return state_; }
  const ArenaIndex& index() const noexcept { return *index_; }
  void resume(const ArenaState& state, ArenaIndex& index) noexcept {
    state_ = state;
    if (!is_place(state_.cursor)) state_.cursor = 0;
    index_ = &index;
  }
  // Rebuilds both from the block headers; the space behind a damaged header stays unused.
  void rebuild() noexcept;

 private:
  BlockHeader* at(std::uint64_t offset) const noexcept { return reinterpret_cast<BlockHeader*>(base_ + offset); }
  bool is_place(std::uint64_t offset) const noexcept { return offset < bytes_ && offset % kLine == 0; }
  bool is_hole(std::uint64_t offset, std::uint64_t need) const noexcept;
  std::uint64_t segment_of(std::uint64_t offset) const noexcept { return offset >> shift_; }
  std::uint64_t segment_count() const noexcept { return segment_of(bytes_ - 1) + 1; }
  std::uint64_t segment_end(std::uint64_t segment) const noexcept;
  std::uint64_t released_in(std::uint64_t segment) const noexcept;
  std::uint64_t find(std::uint64_t need, std::uint64_t released) noexcept;
  std::uint64_t search(std::uint64_t need) noexcept;
  std::uint64_t visit(std::uint64_t segment, std::uint64_t from, std::uint64_t need) noexcept;
  std::uint64_t merge(std::uint64_t offset, std::uint64_t end, std::uint64_t need) noexcept;
  std::uint64_t split(std::uint64_t offset, std::uint64_t size, std::uint64_t need) noexcept;
  void note_boundaries(std::uint64_t offset, std::uint64_t end, std::uint64_t hole_end) noexcept;
  void leave_hole() noexcept;
  void make_free(std::uint64_t offset, std::uint64_t size) noexcept;
  void reset() noexcept;

  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
  ArenaState state_;
  std::uint32_t owner_ = 0;
  unsigned shift_ = kSmallestSegmentShift;
  LaneHeader* lane_ = nullptr;
  ArenaIndex* index_ = nullptr;
  std::shared_ptr<ArenaIndex> own_index_;
  std::uint64_t visited_ = 0;
};

// The next visit of its segment finds the state. `offset`: of the block in its arena of `arena_bytes`. `size_bytes`: size of the block as
// known to the caller, because the header may be overwritten once the block is released.
inline void release_block(BlockHeader& block, std::uint64_t size_bytes, LaneHeader& lane, std::uint64_t arena_bytes,
                          std::uint64_t offset) noexcept {
  set_state(block, BlockState::released);
  count_release(lane, arena_bytes, offset, size_bytes);
}

using VisitBlock = std::function<void(BlockHeader&, std::uint64_t)>;
// Calls `visit(header, offset)` for each block of an arena in address order, as long as the headers are valid. Reads only the first
// `readable` bytes, and no block that is not free extends beyond them.
// Returns false at an invalid block header, having visited the blocks before it.
bool walk_arena(std::byte* base, std::uint64_t bytes, std::uint64_t readable, const VisitBlock& visit);
inline bool walk_arena(std::byte* base, std::uint64_t bytes, const VisitBlock& visit) {
  return walk_arena(base, bytes, bytes, visit);
}

}  // namespace damaris::shm
