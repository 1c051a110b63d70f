// Identifies a process by more than its pid, which the system may reuse, and checks whether it is alive.
// Used by: code that waits for another process or takes over from it: peer_watch, claims of slots, the pool's lock, regions of dead
// servers; off the hot path.
// Before it: pid and start time in the region. After it: DC_E_SERVER_LOST, a partial step, a stale region.
#pragma once

#include <cstdint>

namespace damaris {

struct ProcessId {
  std::int32_t pid = 0;
  std::uint64_t start_time = 0;  // clock ticks since boot, field 22 of /proc/<pid>/stat; 0: unknown
  std::uint64_t space = 0;       // PID and time namespace of both; 0: unknown, assumed to be this process's own
};

// True if its pid and start time are valid in this process: in another PID namespace, such as a container's, the pid denotes no process or
// a different one, and in another time namespace the same process has a different start time.
bool is_visible(const ProcessId& process) noexcept;

ProcessId this_process();

// Packs pid and start time into one word that names an owner in shared memory; 0: no owner. A start time that does not fit counts as
// unknown.
constexpr std::uint64_t word_of(const ProcessId& process) noexcept {
  const std::uint64_t start = process.start_time >> 32 == 0 ? process.start_time : 0;
  return start << 32 | static_cast<std::uint32_t>(process.pid);
}
constexpr ProcessId process_of(std::uint64_t word) noexcept {
  return {static_cast<std::int32_t>(word & 0xffffffff), word >> 32, 0};
}

// Works for any process; 0 if unknown.
std::uint64_t start_time_of(std::int32_t pid) noexcept;

// For visible processes only. Reads /proc: a zombie whose threads have all ended, or a process with a different start time, is dead. Keeps
// no descriptor. If /proc cannot be read (no descriptor left, no /proc, or it hides the process), any process with that pid counts as alive.
bool is_alive(const ProcessId& process) noexcept;

// Watches one process through a pidfd, which reports its death at once and costs two system calls per check. If the program has closed the
// descriptor, checks fall back to /proc; a descriptor number that has been reused is neither queried nor closed.
// Owns: the descriptor. The calling process itself is always alive and needs none.
class ProcessWatch {
 public:
  ProcessWatch() = default;
  explicit ProcessWatch(const ProcessId& process);
  ProcessWatch(ProcessWatch&& other) noexcept;
  ProcessWatch& operator=(ProcessWatch&& other) noexcept;
  ~ProcessWatch();
  bool alive() const noexcept;
  const ProcessId& process() const noexcept { return process_; }

 private:
  ProcessId process_;
  int descriptor_ = -1;
  bool dead_at_start_ = false;
};

}  // namespace damaris
