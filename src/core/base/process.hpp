// Identifies a process beyond its number, which the system may reuse, and says whether it still lives.
// Used by: whatever waits for another process or takes its place: peer_watch, claims of slots, the pool's lock, regions of dead servers;
// off the hot path.
// Before it: pid and start time in the region. After it: DC_E_SERVER_LOST, a partial step, a stale region.
#pragma once

#include <cstdint>

namespace damaris {

struct ProcessId {
  std::int32_t pid = 0;
  std::uint64_t start_time = 0;  // clock ticks since boot, field 22 of /proc/<pid>/stat; 0: not known
  std::uint64_t space = 0;       // PID and time namespace that these are of; 0: not known, taken for this process's own
};

// Whether its number and start time are valid here: in another PID namespace, a container's for instance, the number belongs to no process or to
// another one, and in another time namespace the same process has another start time.
bool is_visible(const ProcessId& process) noexcept;

ProcessId this_process();

// Process number and start time in one word, to name an owner in shared memory; 0: no owner. A start time that does not fit counts as
// unknown.
constexpr std::uint64_t word_of(const ProcessId& process) noexcept {
  const std::uint64_t start = process.start_time >> 32 == 0 ? process.start_time : 0;
  return start << 32 | static_cast<std::uint32_t>(process.pid);
}
constexpr ProcessId process_of(std::uint64_t word) noexcept {
  return {static_cast<std::int32_t>(word & 0xffffffff), word >> 32, 0};
}

// Of any process; 0 when unknown.
std::uint64_t start_time_of(std::int32_t pid) noexcept;

// For visible processes only. Reads /proc: a zombie and a process with another start time are dead. Keeps no descriptor. Where /proc cannot
// be read (no descriptor left, no /proc, or one that hides the process), any process of that number counts as alive.
bool is_alive(const ProcessId& process) noexcept;

// Watches one process through a pidfd, which shows its death at once and costs two system calls a check. When the program has closed the
// descriptor, checks read /proc; a number that belongs to another file by now is neither queried nor closed.
// Owns: the descriptor. Not for the calling process itself, which is always alive.
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
