// Wake-ups: clients ring the server's doorbell, and the server notifies its clients of progress.
// Used by: both sides; a notification costs a system call only if the other side sleeps.
// Before it: a push, or a release of blocks. After it: the other side polls the lanes, or its arena, again.
#pragma once

#include "core/shm/futex.hpp"
#include "core/shm/layout.hpp"

namespace damaris::shm {

// Client: call after a push that must not wait for the server's next poll.
inline void ring_server(RegionHeader& region) noexcept {
  region.doorbell.fetch_add(1, std::memory_order_seq_cst);
  if (region.server_sleeping.load(std::memory_order_seq_cst) != 0) futex_wake_all(region.doorbell);
}

// Server: sleeps until a client rings, at most `timeout_ms`, unless has_work() returns true after the server has announced its sleep.
// A concurrent push is seen either by has_work() or by the futex, because the ring changes the doorbell.
template <class HasWork>
void sleep_as_server(RegionHeader& region, std::int64_t timeout_ms, HasWork&& has_work) {
  region.server_sleeping.store(1, std::memory_order_seq_cst);
  const std::uint32_t seen = region.doorbell.load(std::memory_order_seq_cst);
  if (!has_work()) futex_wait(region.doorbell, seen, timeout_ms);
  region.server_sleeping.store(0, std::memory_order_relaxed);
}

// Server: call after releasing blocks or advancing a step.
inline void notify_progress(RegionHeader& region) noexcept {
  region.progress.fetch_add(1, std::memory_order_seq_cst);
  if (region.clients_waiting.load(std::memory_order_seq_cst) != 0) futex_wake_all(region.progress);
}

// Server: call after dequeuing messages, because a client may wait for room in its lane.
// Adding 0 orders the store of the lane's tail before the load: a client whose wait is not seen here sees the new tail before it sleeps.
inline void notify_lane_room(RegionHeader& region) noexcept {
  if (region.clients_waiting.fetch_add(0, std::memory_order_seq_cst) != 0) notify_progress(region);
}

// Client: sleeps until there is progress, at most `timeout_ms`, unless done() returns true.
template <class Done>
void wait_for_progress(RegionHeader& region, std::int64_t timeout_ms, Done&& done) {
  region.clients_waiting.fetch_add(1, std::memory_order_seq_cst);
  const std::uint32_t seen = region.progress.load(std::memory_order_seq_cst);
  if (!done()) futex_wait(region.progress, seen, timeout_ms);
  region.clients_waiting.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace damaris::shm
