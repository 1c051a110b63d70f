// Watches recorded processes, which hold no lock whose end the kernel would tell.
// Used by: the server of a recording; processes that look for one.
// Before it: pid and start time in the pool. After it: the chunks of the dead are stored.
#pragma once

#include <cstdint>

namespace damaris::record {

// Reads /proc: a zombie whose threads have all ended, or a process with another start time (unless that is 0, unknown), is dead. If /proc
// does not show it, any process with that pid counts as alive.
bool is_alive(std::int32_t pid, std::uint64_t start_time) noexcept;

// Watches one process through a pidfd, which reports its death at once and costs one system call per check.
// Owns: the descriptor. The calling process itself is always alive and needs none.
class ProcessWatch {
 public:
  ProcessWatch() = default;
  ProcessWatch(std::int32_t pid, std::uint64_t start_time);
  ProcessWatch(ProcessWatch&& other) noexcept { *this = static_cast<ProcessWatch&&>(other); }
  ProcessWatch& operator=(ProcessWatch&& other) noexcept;
  ~ProcessWatch();
  bool alive() const noexcept;
  std::int32_t pid() const noexcept { return pid_; }

 private:
  std::int32_t pid_ = 0;
  std::uint64_t start_time_ = 0;
  int descriptor_ = -1;
  bool dead_at_start_ = false;
};

}  // namespace damaris::record
