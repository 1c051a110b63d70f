#include "core/shm/peer_watch.hpp"

namespace damaris::shm {
namespace {

ProcessId process_at(const Region& region, std::uint64_t part) {
  const RegionHeader& header = region.header();
  if (part == kServerPart) return {header.server_pid, header.server_start_time, header.server_space};
  const ClientSlot& slot = region.slot(static_cast<std::uint32_t>(part - kClientParts));
  return {slot.pid, slot.start_time, slot.space};
}

}  // namespace

PeerWatch::PeerWatch(const Region& region, std::uint64_t part) : part_(part) {
  const ProcessId process = process_at(region, part);
  if (is_visible(process))
    watch_ = ProcessWatch(process);
  else
    memory_ = &region.memory();
}

// Private memory has no peer process.
bool PeerWatch::alive() const noexcept {
  if (memory_ == nullptr) return watch_.alive();
  return memory_->is_private() || memory_->is_locked_elsewhere(part_);
}

}  // namespace damaris::shm
