// A plan in virtual time: when each process ends, and how long each operation waits.
// Used by: the verb, Python (replay.h), the player's report; one thread.
// Before it: a Plan. After it: numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/plan.hpp"

namespace damaris::replay {

// Units: ns since the start.
struct Times {
  std::uint64_t total = 0;
  std::vector<std::uint64_t> ends;   // of each process
  std::vector<std::uint64_t> waits;  // of each operation, for others
};

// `io_ns`: what each operation of I/O takes, by operation, in place of what the plan says.
// Time: in proportion to the operations. Throws Error(DC_E_CONFIG) about operations that wait for each other, with both lines.
Times evaluate(const Plan& plan, const std::vector<std::uint64_t>* io_ns = nullptr);

// Calls see(operation, begin, end) for each operation in turn: `begin` is when its process reaches it.
template <class See>
void for_each_time(const Plan& plan, const Times& times, const std::vector<std::uint64_t>* io_ns, See see) {
  for (const Process& process : plan.processes) {
    std::uint64_t clock = 0;
    for (std::uint32_t i = process.begin; i < process.end; ++i) {
      const Operation& one = plan.operations[i];
      const std::uint64_t begin = clock;
      clock += times.waits[i] + (io_ns != nullptr && is_io(one.kind) ? (*io_ns)[i] : one.ns);
      see(i, begin, clock);
    }
  }
}

// The share of the time in which more processes compute than there are cores: the replay's sleeps do not compete as they did.
double crowded_share(const Plan& plan, const Times& times, unsigned cores);

}  // namespace damaris::replay
