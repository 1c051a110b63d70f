// The paper's shared pool (split="shared"): one arena that all clients of a server reserve from, under a lock that survives its owner.
// Used by: PooledArena by one client thread; reclaim by the server when a client has died.
// Before it: Region makes the pool. After it: a published block travels through its client's lane like any other.
#pragma once

#include <functional>

#include "core/base/process.hpp"
#include "core/shm/arena.hpp"

namespace damaris::shm {

// Makes `pool` ready for other processes, with the arena at `base` as one free block.
void make_pool(PoolHeader& pool, std::byte* base, std::uint64_t bytes, LaneHeader* lane);

// The lock, held for the time of this object unless it could not be had in time. A word that names its owner, so that the next one can see
// that this is dead; nothing in it is followed, so that no client can harm a server that takes it.
class PoolLock {
 public:
  // `self`: the calling process. Waits at most `wait_ms`: an owner may have been stopped.
  PoolLock(PoolHeader& pool, const ProcessId& self, std::int64_t wait_ms) noexcept;
  ~PoolLock();
  PoolLock(const PoolLock&) = delete;
  PoolLock& operator=(const PoolLock&) = delete;

  explicit operator bool() const noexcept { return held_; }
  // The one who had it before died with it: the blocks are sound, the state may not be.
  bool is_orphan() const noexcept { return orphan_; }

 private:
  void take(std::uint64_t from) noexcept;
  void take_from_dead(std::uint64_t owner) noexcept;

  PoolHeader& pool_;
  std::uint64_t self_, space_;
  bool held_ = false, orphan_ = false;
};

// What a client thread writes into: an arena of its own, or, with a pool, its turn at the one that all share. Calls as of Arena; a turn
// that does not come in time looks like a full buffer.
class PooledArena {
 public:
  // `pool`: nullptr for an arena of its own. `owner`: the client's slot. `wait_ms`: how long a call may take; its turn is awaited no longer.
  PooledArena(const Arena& arena, PoolHeader* pool, std::uint32_t owner, std::int64_t wait_ms) noexcept;

  BlockHeader* try_reserve(std::uint64_t data_bytes, Form form = {}) noexcept {
    return pool_ == nullptr ? arena_.try_reserve(data_bytes, form) : reserve_in_turn(data_bytes, form);
  }
  void cancel(BlockHeader& block) noexcept { arena_.cancel(block); }
  bool can_ever_hold(std::uint64_t data_bytes, Form form = {}) const noexcept { return arena_.can_ever_hold(data_bytes, form); }
  bool is_shared() const noexcept { return pool_ != nullptr; }

  std::uint64_t size_bytes() const noexcept { return arena_.size_bytes(); }
  std::uint64_t used_bytes() noexcept;
  std::uint64_t largest_hole_bytes(Form form = kAllLists) noexcept;
  // In a pool: as it was when this thread was last at it.
  std::uint64_t used_hint_bytes() const noexcept { return pool_ == nullptr ? arena_.used_hint_bytes() : used_; }
  bool more_than_half_full() const noexcept { return used_hint_bytes() * 2 > arena_.size_bytes(); }

 private:
  BlockHeader* reserve_in_turn(std::uint64_t data_bytes, Form form) noexcept;
  template <class Work>
  void in_turn(Work&& work) noexcept;

  Arena arena_;
  PoolHeader* pool_;
  ProcessId self_;
  std::int64_t turn_ms_;
  std::uint64_t used_ = 0;  // of the pool, at the end of the last turn
};

// Gives back what a dead client had in hand: each of its blocks that `is_taken` does not know. Returns false, nothing changed, when somebody
// else has the lock: try again later. For the server: does not wait.
bool reclaim(PoolHeader& pool, Arena arena, std::uint32_t owner, const std::function<bool(const BlockHeader&)>& is_taken);

}  // namespace damaris::shm
