// The storages of several servers, each in a process of its own, with steps that complete at given times and messages between them.
// Used by: the slots benchmark.
// Before it: the schedule to try. After it: how long each write took.
#pragma once

#include <string>
#include <vector>

namespace damaris::bench {

struct GroupPlan {
  int servers = 4;
  int steps = 10;
  double interval_s = 1;    // between two steps
  std::uint64_t bytes = 0;  // of a server and step
  std::string schedule;     // of <hdf5>
};

// Runs all servers to their end. Returns the seconds of each write, from its first byte to durable, but those of the first two
// steps, which have no estimate yet. Throws Error when a server fails or takes ten times as long as it should.
std::vector<double> run_group(const GroupPlan& plan, const std::string& folder);

}  // namespace damaris::bench
