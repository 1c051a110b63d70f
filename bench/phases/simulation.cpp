#include "phases/simulation.hpp"

#include <time.h>

#include <cstring>

#include "memory.hpp"
#include "phases/quiet_barrier.hpp"

namespace damaris::bench {
namespace {

double seconds(clockid_t clock) {
  timespec time = {};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Work without memory: what a model does in its own way.
void busy(double cpu_s) {
  const double end = seconds(CLOCK_THREAD_CPUTIME_ID) + cpu_s;
  volatile double value = 1;
  while (seconds(CLOCK_THREAD_CPUTIME_ID) < end)
    for (int i = 0; i < 10'000; ++i) value = value * 1.0000001 + 1e-9;
}

void copy_fields(const Fields& fields, Circle& memory) {
  const std::size_t bytes = fields.grid().bytes(fields.slab());
  for (int field = 0; field < kFields; ++field) std::memcpy(memory.next(bytes), fields[field], bytes);
}

// A line more for each field: Circle begins each piece at one.
Circle room_for(const Fields& fields) { return Circle::shared_memory(fields.bytes() + kFields * 64); }

}  // namespace

double monotonic_s() { return seconds(CLOCK_MONOTONIC); }

std::vector<PhaseTimes> simulate(int phases, double compute_s, Fields& fields, Way& way, MPI_Comm processes) {
  Circle memory = room_for(fields);
  std::vector<PhaseTimes> times(static_cast<std::size_t>(phases));
  for (int phase = 0; phase < phases; ++phase) {
    PhaseTimes& now = times[static_cast<std::size_t>(phase)];
    now.compute.begin = monotonic_s();
    busy(compute_s);
    fields.compute(phase);
    quiet_barrier(processes);
    const double copy = monotonic_s();
    copy_fields(fields, memory);
    now.memcpy_s = monotonic_s() - copy;
    fields.compute(phase);  // the caches as they were before the copy
    now.compute.end = monotonic_s();
    quiet_barrier(processes);
    const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    now.write.begin = monotonic_s();
    way.write(phase, fields);
    now.write.end = monotonic_s();
    now.cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    quiet_barrier(processes);
  }
  return times;
}

}  // namespace damaris::bench
