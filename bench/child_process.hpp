// A process of a benchmark's own: forked, killed with its parent, waited for within a bound.
// Used by: the benchmarks' process, one thread; before threads exist.
// Before it: what is shared lies in shared memory already. After it: the parent reads there what the child has left.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

namespace damaris::bench {

class ChildProcess {
 public:
  enum class State { running, ended_well, failed };

  // Forks. The child calls work() and ends; when that throws, it says so on standard error and has failed. Throws Error(DC_E_MEMORY).
  explicit ChildProcess(const std::function<void()>& work);
  // Kills it when it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  State look();
  // Waits until it ends, at most `timeout_ms`.
  State wait(std::int64_t timeout_ms);

 private:
  pid_t pid_ = -1;
  State state_ = State::running;
};

}  // namespace damaris::bench
