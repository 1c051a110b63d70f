// Checks whether the peer process of a region is alive: by its pid if both share their PID and time namespaces, else by the lock on its
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
  // `part`: kServerPart, or kClientParts + slot. The region must outlive this object.
  PeerWatch(const Region& region, std::uint64_t part);
  bool alive() const noexcept;

 private:
  const SharedMemory* memory_ = nullptr;  // set if the peer is in another namespace
  std::uint64_t part_ = 0;
  ProcessWatch watch_;
};

}  // namespace damaris::shm
