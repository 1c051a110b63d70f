// Vector clocks: what happens before what.
// Used by: the explorer of the model tests.
// Before it: an access. After it: whether another one may see it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "model/explorer.hpp"

namespace damaris::explorer {

struct Clock {
  std::array<std::uint32_t, kMostThreads> time = {};

  void join(const Clock& other) {
    for (std::size_t t = 0; t < kMostThreads; ++t) time[t] = std::max(time[t], other.time[t]);
  }
};

// A moment of one thread; of no thread: before all.
struct Moment {
  int thread = -1;
  std::uint32_t time = 0;

  bool before(const Clock& clock) const { return thread < 0 || time <= clock.time[static_cast<std::size_t>(thread)]; }
};

}  // namespace damaris::explorer
