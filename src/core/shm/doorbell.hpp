// Sleeping and waking, always with a time-out: clients ring the server's doorbell, and the server notifies its clients of progress.
// Used by: both sides, and both waiting for a pool's lock; a notification costs a system call only if the other side sleeps.
// Before it: a push, or a release of blocks. After it: the other side polls the lanes, or its arena, again.
#pragma once

#include "core/shm/layout.hpp"

namespace damaris::shm {

// Sleeps while `word` holds `seen`, at most `timeout_ms`. May return early; the caller checks again.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t timeout_ms) noexcept;
// Wakes every sleeper on `word`.
void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept;

// Wakes the sleepers on the bell, if there are any. Call after the store that a sleeper waits for.
inline void ring(std::atomic<std::uint32_t>& bell, const std::atomic<std::uint32_t>& sleepers) noexcept {
  bell.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) != 0) futex_wake_all(bell);
}

// The one thread that sleeps on the bell: at most `timeout_ms`, unless has_work() returns true after it has announced its sleep.
// What came before a concurrent ring is seen either by has_work() or by the futex, because the ring changes the bell.
template <class HasWork>
void sleep_on(std::atomic<std::uint32_t>& bell, std::atomic<std::uint32_t>& sleeping, std::int64_t timeout_ms, HasWork&& has_work) {
  sleeping.store(1, std::memory_order_seq_cst);
  const std::uint32_t seen = bell.load(std::memory_order_acquire);
  if (!has_work()) futex_wait(bell, seen, timeout_ms);
  sleeping.store(0, std::memory_order_relaxed);
}

// Client: call after a push that must not wait for the server's next poll.
inline void ring_server(RegionHeader& region) noexcept { ring(region.doorbell, region.server_sleeping); }

// Server: sleeps until a client rings.
template <class HasWork>
void sleep_as_server(RegionHeader& region, std::int64_t timeout_ms, HasWork&& has_work) {
  sleep_on(region.doorbell, region.server_sleeping, timeout_ms, has_work);
}

// Server: call after releasing blocks or advancing a step.
inline void notify_progress(RegionHeader& region) noexcept { ring(region.progress, region.clients_waiting); }

// Server: call after dequeuing messages, because a client may wait for room in its lane.
// Adding 0 orders the store of the lane's tail before the load: a client whose wait is not seen here sees the new tail before it sleeps.
inline void notify_lane_room(RegionHeader& region) noexcept {
  if (region.clients_waiting.fetch_add(0, std::memory_order_release) != 0) notify_progress(region);
}

// Client: sleeps until there is progress, at most `timeout_ms`, unless done() returns true.
template <class Done>
void wait_for_progress(RegionHeader& region, std::int64_t timeout_ms, Done&& done) {
  region.clients_waiting.fetch_add(1, std::memory_order_seq_cst);
  const std::uint32_t seen = region.progress.load(std::memory_order_acquire);
  if (!done()) futex_wait(region.progress, seen, timeout_ms);
  region.clients_waiting.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace damaris::shm
