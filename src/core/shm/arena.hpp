// An arena: one client thread's part of the buffer. Only that thread reserves and only the server releases blocks: no lock, no system call.
// Used by: Arena by one client thread, or under the lock of a pool (pool.hpp); walk_arena by the server and by recovery.
// Before it: the layout determines the bytes. After it: the published block is announced through the lane.
#pragma once

#include <cstddef>
#include <functional>

#include "core/shm/states.hpp"

namespace damaris::shm {

// Address-ordered first fit; adjacent blocks are merged when no hole is large enough.
class Arena {
 public:
  Arena() = default;
  // Initializes an arena of `bytes` at `base` (64-byte aligned, `bytes` a multiple of 64) as one free block.
  Arena(std::byte* base, std::uint64_t bytes, LaneHeader* lane) noexcept;
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
  // Both first reclaim what the server has released.
  std::uint64_t used_bytes() noexcept;
  // Data bytes that fit into the largest hole with a header of this form.
  std::uint64_t largest_hole_bytes(Form form = kAllLists) noexcept;
  // Sets the owner recorded in the header of each block that is reserved from now on.
  void set_owner(std::uint32_t owner) noexcept { owner_ = owner; }
  // For an arena that several processes use in turn: each resumes from the state that the previous one left.
  const ArenaState& state() const noexcept { return state_; }
  void resume(const ArenaState& state) noexcept {
    state_ = state;
    state_.first_free = checked_offset(state.first_free, 0);
  }
  // Rebuilds the state from the block headers; the space behind a damaged header stays unused.
  void rebuild() noexcept;

  // Estimates without a walk: blocks released since the last sweep count as free.
  std::uint64_t used_hint_bytes() const noexcept {
    // May underflow: a sweep may have merged a released block before its bytes were counted.
    const std::uint64_t free = state_.free_bytes + (lane_->released.load(std::memory_order_relaxed) - state_.swept);
    return free < bytes_ ? bytes_ - free : 0;
  }
  bool more_than_half_full() const noexcept { return used_hint_bytes() * 2 > bytes_; }

 private:
  BlockHeader* at(std::uint64_t offset) const noexcept { return reinterpret_cast<BlockHeader*>(base_ + offset); }
  std::uint64_t next_free(std::uint64_t offset) const noexcept;
  BlockHeader* first_fit(std::uint64_t need, Form form) noexcept;
  std::uint64_t split(std::uint64_t offset, std::uint64_t previous, std::uint64_t size, std::uint64_t need) noexcept;
  // `offset` if it is aligned and not below `least`, otherwise kNoBlock.
  static std::uint64_t checked_offset(std::uint64_t offset, std::uint64_t least) noexcept {
    return offset >= least && offset % kLine == 0 ? offset : kNoBlock;
  }
  void make_free(std::uint64_t offset, std::uint64_t size) noexcept;
  bool sweep() noexcept;
  void walk_and_merge() noexcept;
  void reset(std::uint64_t released) noexcept;

  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
  ArenaState state_;
  std::uint32_t owner_ = 0;
  LaneHeader* lane_ = nullptr;
};

// The next sweep finds the state; `released` tells the client that a sweep is worthwhile, or that every block has been released.
// `size_bytes`: size of the block as known to the caller, because the header may be overwritten once the block is released.
inline void release_block(BlockHeader& block, std::uint64_t size_bytes, LaneHeader& lane) noexcept {
  set_state(block, BlockState::released);
  lane.released.fetch_add(size_bytes, std::memory_order_release);
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
