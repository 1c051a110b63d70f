// Who a process is, beyond a number that may be used again, and whether it still lives.
// Used by: clients watching their server, the server watching its clients, both off the hot path.
// Before it: pid and start time in the region's header. After it: DC_E_SERVER_LOST, a partial iteration, a stale region.
#pragma once

#include <cstdint>

namespace damaris {

struct ProcessId {
  std::int32_t pid = 0;
  std::uint64_t start_time = 0;  // clock ticks since boot, field 22 of /proc/<pid>/stat; 0: not known
};

ProcessId this_process();

// Looks in /proc: a zombie and a process with another start time are dead. No descriptor is kept.
bool is_alive(const ProcessId& process) noexcept;

// Watches one process through a pidfd, which tells death at once and costs one poll() a look.
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
