#include "core/shm/pool.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "core/base/clock.hpp"
#include "core/shm/doorbell.hpp"

namespace damaris::shm {
namespace {

constexpr std::int64_t kLongestLockWaitMs = 100;
constexpr std::int64_t kOwnerCheckMs = 5;  // how long an owner may hold the lock before a waiter checks whether it is alive

}  // namespace

void make_pool(PoolHeader& pool, std::byte* base, std::uint64_t bytes, LaneHeader* lane) {
  new (&pool) PoolHeader{};
  const Arena arena(base, bytes, lane);
  pool.state = arena.state();
  pool.index = arena.index();
}

PoolLock::PoolLock(PoolHeader& pool, const SharedMemory& memory, std::uint64_t part, std::int64_t wait_ms) noexcept
    : pool_(pool), memory_(memory), self_(part + 1) {
  take(0);
  if (held_) return;
  const Deadline deadline = Deadline::after_ms(wait_ms);
  pool_.waiting.fetch_add(1, std::memory_order_seq_cst);
  do {
    const std::uint32_t seen = pool_.bell.load(std::memory_order_acquire);
    const std::uint64_t owner = pool_.owner.load(std::memory_order_seq_cst);
    if (owner != 0) futex_wait(pool_.bell, seen, deadline.left_ms(kOwnerCheckMs));
    take(0);
    if (!held_) steal_from_dead(owner);
  } while (!held_ && !deadline.expired());
  pool_.waiting.fetch_sub(1, std::memory_order_relaxed);
}

void PoolLock::take(std::uint64_t from) noexcept {
  held_ = pool_.owner.compare_exchange_strong(from, self_, std::memory_order_acquire);
}

// The check costs a system call, so an owner that has just taken the lock is not checked.
void PoolLock::steal_from_dead(std::uint64_t owner) noexcept {
  if (owner == 0 || owner == self_ || pool_.owner.load(std::memory_order_relaxed) != owner) return;
  if (owner <= kTakeoverPart && memory_.is_held(owner - 1)) return;  // else a client has overwritten it
  take(owner);
  orphan_ = held_;
}

// A process that dies before this store leaves an orphaned lock, even if it took the lock from a dead owner.
PoolLock::~PoolLock() {
  if (!held_) return;
  pool_.owner.store(0, std::memory_order_seq_cst);
  if (pool_.waiting.load(std::memory_order_seq_cst) == 0) return;
  pool_.bell.fetch_add(1, std::memory_order_release);
  futex_wake_all(pool_.bell);
}

// Even a caller whose `wait_ms` is 0 allows the owner kOwnerCheckMs: an owner holds the lock for microseconds, unless it was stopped.
PooledArena::PooledArena(const Arena& arena, PoolHeader* pool, const SharedMemory& memory, std::uint32_t owner,
                         std::int64_t wait_ms) noexcept
    : arena_(arena),
      pool_(pool),
      memory_(&memory),
      part_(kClientParts + owner),
      lock_timeout_ms_(std::clamp(wait_ms, kOwnerCheckMs, kLongestLockWaitMs)) {
  arena_.set_owner(owner);
}

template <class Work>
void PooledArena::with_lock(Work&& work) noexcept {
  const PoolLock lock(*pool_, *memory_, part_, lock_timeout_ms_);
  if (!lock) return;
  arena_.resume(pool_->state, pool_->index);
  if (lock.is_orphan()) arena_.rebuild();
  work();
  pool_->state = arena_.state();
  used_ = arena_.used_bytes();
}

BlockHeader* PooledArena::reserve_locked(std::uint64_t data_bytes, Form form) noexcept {
  BlockHeader* block = nullptr;
  with_lock([&] { block = arena_.try_reserve(data_bytes, form); });
  return block;
}

std::uint64_t PooledArena::used_bytes() noexcept {
  if (pool_ == nullptr) return arena_.used_bytes();
  with_lock([] {});
  return used_;
}

std::uint64_t PooledArena::largest_hole_bytes(Form form) noexcept {
  if (pool_ == nullptr) return arena_.largest_hole_bytes(form);
  std::uint64_t bytes = 0;
  find_hole(form, bytes);
  return bytes;
}

// Leaves `bytes` as it is if the lock cannot be taken.
void PooledArena::find_hole(Form form, std::uint64_t& bytes) noexcept {
  with_lock([&] { bytes = arena_.largest_hole_bytes(form); });
}

PooledArena::Use PooledArena::use_now() noexcept {
  if (pool_ == nullptr) return {arena_.used_bytes(), arena_.largest_hole_bytes()};
  const std::int64_t before = std::exchange(lock_timeout_ms_, 0);
  find_hole(kAllLists, hole_);
  lock_timeout_ms_ = before;
  return {used_, hole_};
}

bool reclaim(PoolHeader& pool, const SharedMemory& memory, Arena arena, std::uint32_t owner,
             const std::function<bool(const BlockHeader&)>& is_held_block) {
  const PoolLock lock(pool, memory, kServerPart, 0);
  if (!lock) return false;
  arena.resume(pool.state, pool.index);
  walk_arena(arena.base(), arena.size_bytes(), [&](BlockHeader& block, std::uint64_t) {
    const auto state = state_of(block);
    if (state == BlockState::free || state == BlockState::released || block.owner != owner || is_held_block(block)) return;
    arena.cancel(block);
  });
  arena.rebuild();  // the client may have died between the release of a block and its counting
  pool.state = arena.state();
  return true;
}

}  // namespace damaris::shm
