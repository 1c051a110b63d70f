// The paper's shared pool (split="shared"): one arena that all clients of a server reserve from, under a lock that survives its owner.
// Used by: PooledArena by one client thread; reclaim by the server after a client's death.
// Before it: Region creates the pool. After it: a published block is announced through its client's lane like any other.
#pragma once

#include <functional>

#include "core/shm/arena.hpp"
#include "core/shm/shared_memory.hpp"

namespace damaris::shm {

// Initializes `pool` for other processes, with the arena at `base` as one free block.
void make_pool(PoolHeader& pool, std::byte* base, std::uint64_t bytes, LaneHeader* lane);

// Holds the lock for the lifetime of this object, if it could be taken in time. The lock is a word that names its owner, so that the next
// process can detect a dead one. The word is never used as a pointer, so a client cannot harm a server that takes the lock.
class PoolLock {
 public:
  // `part`: the one of `memory` that the calling process holds. Waits at most `wait_ms`: an owner may have been stopped.
  PoolLock(PoolHeader& pool, const SharedMemory& memory, std::uint64_t part, std::int64_t wait_ms) noexcept;
  ~PoolLock();
  PoolLock(const PoolLock&) = delete;
  PoolLock& operator=(const PoolLock&) = delete;

  explicit operator bool() const noexcept { return held_; }
  // The previous owner died holding the lock: the blocks are consistent, the state may not be.
  bool is_orphan() const noexcept { return orphan_; }

 private:
  void take(std::uint64_t from) noexcept;
  void steal_from_dead(std::uint64_t owner) noexcept;

  PoolHeader& pool_;
  const SharedMemory& memory_;
  std::uint64_t self_;
  bool held_ = false, orphan_ = false;
};

// The arena of a client thread: its own, or, with a pool, the shared one under the lock. Same interface as Arena; a lock that cannot be
// taken in time counts as a full buffer.
class PooledArena {
 public:
  // `pool`: nullptr for an arena of its own. `memory` outlives this object. `owner`: the client's slot. `wait_ms`: how long a call may take,
  // including the wait for the lock.
  PooledArena(const Arena& arena, PoolHeader* pool, const SharedMemory& memory, std::uint32_t owner, std::int64_t wait_ms) noexcept;

  BlockHeader* try_reserve(std::uint64_t data_bytes, Form form = {}) noexcept {
    return pool_ == nullptr ? arena_.try_reserve(data_bytes, form) : reserve_locked(data_bytes, form);
  }
  void cancel(BlockHeader& block) noexcept { arena_.cancel(block); }
  bool can_ever_hold(std::uint64_t data_bytes, Form form = {}) const noexcept { return arena_.can_ever_hold(data_bytes, form); }
  bool is_shared() const noexcept { return pool_ != nullptr; }

  std::uint64_t size_bytes() const noexcept { return arena_.size_bytes(); }
  std::uint64_t used_bytes() noexcept;
  std::uint64_t largest_hole_bytes(Form form = kAllLists) noexcept;
  struct Use {
    std::uint64_t used_bytes, largest_hole_bytes;
  };
  // Both now, without a wait. While another process holds the lock of a pool: the use as of this thread's last access, the hole as of its
  // last call of this, 0 before one.
  Use use_now() noexcept;
  // In a pool: as of this thread's last access.
  std::uint64_t last_used_bytes() const noexcept { return pool_ == nullptr ? arena_.used_bytes() : used_; }
  bool more_than_half_full() const noexcept { return last_used_bytes() * 2 > arena_.size_bytes(); }

 private:
  void find_hole(Form form, std::uint64_t& bytes) noexcept;
  BlockHeader* reserve_locked(std::uint64_t data_bytes, Form form) noexcept;
  template <class Work>
  void with_lock(Work&& work) noexcept;

  Arena arena_;
  PoolHeader* pool_;
  const SharedMemory* memory_;
  std::uint64_t part_;
  std::int64_t lock_timeout_ms_;
  std::uint64_t used_ = 0;  // of the pool, as of the last access
  std::uint64_t hole_ = 0;  // its largest, as of the last use_now()
};

// Releases each block of a dead client for which `is_held_block` returns false. Returns false, with nothing changed, while another process
// holds the lock: retry later. For the server: does not wait.
bool reclaim(PoolHeader& pool, const SharedMemory& memory, Arena arena, std::uint32_t owner,
             const std::function<bool(const BlockHeader&)>& is_held_block);

}  // namespace damaris::shm
