// A storage with one bottleneck, inside this program: every pwrite of all its processes goes through one queue at a given rate, and
// each change of the stream costs time, as it does a disk or a storage server that many files are written to at once.
// Used by: the slots benchmark and its server processes. The bytes are written for real once their turn in the queue is over.
#pragma once

#include <cstdint>

namespace damaris::bench {

struct Bottleneck {
  double bytes_per_s = 0;
  double switch_s = 0;  // when the next request is of another process than the last
};

// From now on, in this process and those forked from it, until the object goes. Only one at a time.
class Throttle {
 public:
  explicit Throttle(const Bottleneck& bottleneck);
  ~Throttle();
  Throttle(const Throttle&) = delete;
  Throttle& operator=(const Throttle&) = delete;

  // Of the requests so far.
  double busy_s() const;
  std::uint64_t bytes() const;
};

}  // namespace damaris::bench
