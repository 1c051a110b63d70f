#include "core/shm/pool.hpp"

#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <new>

#include "core/base/error.hpp"

namespace damaris::shm {
namespace {

constexpr long kTurnNs = 100'000'000;
constexpr long kSecondNs = 1'000'000'000;

timespec end_of_turn(clockid_t clock) noexcept {
  timespec end = {};
  ::clock_gettime(clock, &end);
  end.tv_nsec += kTurnNs;
  if (end.tv_nsec >= kSecondNs) ++end.tv_sec, end.tv_nsec -= kSecondNs;
  return end;
}

int wait_for_lock(pthread_mutex_t& lock) noexcept {
#if defined(__SANITIZE_THREAD__)  // which does not know the other call
  const timespec end = end_of_turn(CLOCK_REALTIME);
  return ::pthread_mutex_timedlock(&lock, &end);
#else
  const timespec end = end_of_turn(CLOCK_MONOTONIC);
  return ::pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &end);
#endif
}

void make_lock(pthread_mutex_t& lock) {
  pthread_mutexattr_t shared;
  ::pthread_mutexattr_init(&shared);
  int failure = ::pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  if (failure == 0) failure = ::pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
  if (failure == 0) failure = ::pthread_mutex_init(&lock, &shared);
  ::pthread_mutexattr_destroy(&shared);
  if (failure != 0) throw system_error(DC_E_SHM, "cannot make the lock of the shared pool", failure, "use split=\"equal\"");
}

}  // namespace

void make_pool(PoolHeader& pool, std::byte* base, std::uint64_t bytes, LaneHeader* lane) {
  new (&pool) PoolHeader{};
  make_lock(pool.lock);
  pool.state = Arena(base, bytes, lane).state();
}

PoolLock::PoolLock(PoolHeader& pool) noexcept : pool_(pool) {
  int result = ::pthread_mutex_trylock(&pool.lock);
  if (result == EBUSY) result = wait_for_lock(pool.lock);
  orphan_ = result == EOWNERDEAD;
  held_ = result == 0 || orphan_;
  if (held_) pool_.holder.store(::getpid(), std::memory_order_relaxed);
}

// Consistent only now: who dies while it rebuilds leaves an orphan again.
PoolLock::~PoolLock() {
  if (!held_) return;
  if (orphan_) ::pthread_mutex_consistent(&pool_.lock);
  ::pthread_mutex_unlock(&pool_.lock);
}

template <class Work>
void PooledArena::in_turn(Work&& work) noexcept {
  const PoolLock lock(*pool_);
  if (!lock) return;
  arena_.resume(pool_->state);
  if (lock.is_orphan()) arena_.rebuild();
  work();
  pool_->state = arena_.state();
}

BlockHeader* PooledArena::reserve_in_turn(std::uint64_t data_bytes) noexcept {
  BlockHeader* block = nullptr;
  in_turn([&] { block = arena_.try_reserve(data_bytes); });
  return block;
}

std::uint64_t PooledArena::used_bytes() noexcept {
  if (pool_ == nullptr) return arena_.used_bytes();
  std::uint64_t bytes = arena_.used_hint_bytes();
  in_turn([&] { bytes = arena_.used_bytes(); });
  return bytes;
}

std::uint64_t PooledArena::largest_hole_bytes() noexcept {
  if (pool_ == nullptr) return arena_.largest_hole_bytes();
  std::uint64_t bytes = 0;
  in_turn([&] { bytes = arena_.largest_hole_bytes(); });
  return bytes;
}

bool reclaim(PoolHeader& pool, Arena arena, std::uint32_t owner, const std::function<bool(const BlockHeader&)>& is_taken) {
  const PoolLock lock(pool);
  if (!lock) return false;
  arena.resume(pool.state);
  if (lock.is_orphan()) arena.rebuild();
  walk_arena(arena.base(), arena.size_bytes(), [&](BlockHeader& block, std::uint64_t) {
    const auto state = static_cast<BlockState>(block.state.load(std::memory_order_acquire));
    if (state == BlockState::free || state == BlockState::released || block.next_free != owner || is_taken(block)) return;
    arena.cancel(block);
  });
  pool.state = arena.state();
  return true;
}

}  // namespace damaris::shm
