// What dc_status returns: never waits. The rest of the client is in client.cpp.
#include <algorithm>

#include "client/client.hpp"
#include "core/shm/steps.hpp"

namespace damaris::client {

// A shared pool counts only once: each thread has a value for all of it.
void Client::add_arena(const Writer& writer, dc_status_t& status) const {
  const std::uint64_t used = writer.used_bytes.load(std::memory_order_relaxed);
  const bool shared = writer.arena.is_shared();
  status.buffer_bytes = writer.arena.size_bytes() + (shared ? 0 : status.buffer_bytes);
  status.buffer_used_bytes = shared ? std::max(used, status.buffer_used_bytes) : status.buffer_used_bytes + used;
}

dc_status_t Client::status() {
  const shm::RegionHeader& header = region_->header();
  dc_status_t status = {};
  status.last_complete = header.last_complete.load(std::memory_order_relaxed);
  status.last_durable = shm::last_durable(header);
  status.first_error = header.first_error.load(std::memory_order_relaxed);
  if (Writer* own = writer_if_any()) {  // only its owner may walk an arena; the other threads publish their use with each write
    const shm::PooledArena::Use use = own->arena.use_now();
    status.largest_hole_bytes = use.largest_hole_bytes;
    own->used_bytes.store(use.used_bytes, std::memory_order_relaxed);
  }
  for (const auto& writer : writers_) {
    add_arena(*writer, status);
    status.events_waiting += writer->lane.waiting();
    status.writes += writer->writes.load(std::memory_order_relaxed);
    status.waits += writer->waits.load(std::memory_order_relaxed);
    status.skipped += writer->skipped.load(std::memory_order_relaxed);
    status.dropped += writer->dropped.load(std::memory_order_relaxed);
  }
  status.reduced_steps = header.reduced_steps.load(std::memory_order_relaxed);
  status.spilled_bytes = header.spilled_bytes.load(std::memory_order_relaxed);
  return status;
}

}  // namespace damaris::client
