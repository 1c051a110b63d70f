// Memory in which several clients leave their samples, and the barrier before each of them.
// Used by: the clients, each its own places; the benchmark's process, once they have ended.
// Before it: a plan; made before the clients are forked. After it: the samples of all, in the same order for both ways.
#pragma once

#include "barrier.hpp"
#include "core/shm/shared_memory.hpp"
#include "stopwatch.hpp"
#include "write/configuration.hpp"

namespace damaris::bench {

// Which sample of a round.
struct Place {
  std::size_t size;  // as the plan has them
  bool is_write;     // or a memcpy
  int repeat;
};

class SamplePage {
 public:
  // Throws Error(DC_E_SHM).
  SamplePage(int clients, const WritePlan& plan);

  Barrier& barrier() const noexcept;
  // Rounds that do not count have no place.
  Sample& at(int client, int round, const Place& place) const noexcept;
  Samples all(std::size_t size, bool is_write) const;

 private:
  shm::SharedMemory memory_;
  const int clients_, rounds_;
  std::vector<int> repeats_;  // by size
  std::size_t round_samples_ = 0;
};

}  // namespace damaris::bench
