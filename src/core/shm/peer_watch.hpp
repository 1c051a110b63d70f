// Whether the peer process of a region lives: by its process number where both share their PID and time namespaces, else by the lock on its
// part of the memory.
// Used by: clients watching their server, the server watching its clients, processes that find a region; off the hot path.
// Before it: pid, start time and namespaces in the region. After it: DC_E_SERVER_LOST, a partial step, a stale region.
#pragma once

#include "core/base/process.hpp"
#include "core/shm/region.hpp"

namespace damaris::shm {

class PeerWatch {
 public:
  PeerWatch() = default;
  // `part`: kServerPart, or kClientParts and the slot. The region lives longer than this object.
  PeerWatch(const Region& region, std::uint64_t part);
  bool alive() const noexcept;

 private:
  const SharedMemory* memory_ = nullptr;  // of a process in another PID namespace
  std::uint64_t part_ = 0;
  ProcessWatch watch_;
};

}  // namespace damaris::shm
