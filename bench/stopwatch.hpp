// Wall and processor time of one thread around a few calls.
// Used by: the benchmarks, each thread its own.
#pragma once

#include <time.h>

#include <vector>

#include "core/base/clock.hpp"

namespace damaris::bench {

// Units: nanoseconds, of one operation.
struct Sample {
  double wall_ns = 0;
  double cpu_ns = 0;
};

struct Samples {
  std::vector<double> wall_ns, cpu_ns;
  void add(const Sample& sample) {
    wall_ns.push_back(sample.wall_ns);
    cpu_ns.push_back(sample.cpu_ns);
  }
};

inline double thread_cpu_ns() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// Runs `call(i)` for i below `count`; the processor clock, a system call, stands outside of the wall clock.
template <class Call>
Sample time_calls(int count, Call&& call) {
  const double cpu = thread_cpu_ns();
  const Clock::time_point wall = Clock::now();
  for (int i = 0; i < count; ++i) call(i);
  const double wall_ns = std::chrono::duration<double, std::nano>(Clock::now() - wall).count();
  return {wall_ns / count, (thread_cpu_ns() - cpu) / count};
}

}  // namespace damaris::bench
