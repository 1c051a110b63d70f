// Where processes wait for each other, so that what they measure happens at the same time.
// Used by: the clients of a benchmark; lies in memory that they share, and is made before they are forked.
#pragma once

#include <sched.h>

#include <atomic>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"

namespace damaris::bench {

class Barrier {
 public:
  explicit Barrier(int processes) : processes_(processes) {}

  // Returns when all processes have called it as often. Throws Error(DC_E_TIMEOUT) when one stays away for a minute.
  void wait() {
    const int turn = turn_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == processes_) {
      arrived_.store(0, std::memory_order_relaxed);
      turn_.store(turn + 1, std::memory_order_release);  // publishes the reset before any thread arrives again
      return;
    }
    const Deadline deadline = Deadline::after_ms(kTimeoutMs);
    while (turn_.load(std::memory_order_acquire) == turn) {
      if (deadline.expired()) throw Error(DC_E_TIMEOUT, "a client of the benchmark has stopped, or waits for more than a minute");
      ::sched_yield();  // where clients share a core, the others need it
    }
  }

 private:
  static constexpr std::int64_t kTimeoutMs = 60'000;
  const int processes_;
  std::atomic<int> arrived_{0};
  std::atomic<int> turn_{0};
};

}  // namespace damaris::bench
