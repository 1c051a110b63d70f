// The configurations the write benchmark runs with: which sizes, how many variables of each, what the server does with them.
// Used by: the write benchmark, off the clock.
// Before it: --quick or not. After it: the XML for server and client.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace damaris::bench {

struct SizeCase {
  std::uint64_t bytes;
  int writes;   // timed together, each to a variable of its own: a single small write is shorter than a look at the clock
  int repeats;  // samples a round
};

struct WritePlan {
  std::vector<SizeCase> sizes;
  std::uint64_t buffer_bytes;
  int rounds;
  int warm_up;  // rounds that do not count

  static WritePlan idle(bool quick);
  static WritePlan busy(bool quick);
};

std::string variable_name(std::uint64_t bytes, int index);

// `storage`: the element inside <storage>, or "".
std::string configuration(const WritePlan& plan, const std::string& storage);

}  // namespace damaris::bench
