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
  int every;    // measured in each `every`-th round: the largest sizes take long
  int stored;   // of the writes, how many a server with storage stores
};

struct WritePlan {
  std::vector<SizeCase> sizes;
  std::uint64_t buffer_bytes;
  int rounds;
  int warm_up;  // rounds that do not count

  static WritePlan idle(bool quick);
  // The same up to 1 MiB.
  static WritePlan classic(bool quick);
  static WritePlan busy(bool quick);
  // Large writes, of which few are stored: the server is busy with them all the same.
  static WritePlan busy_large(bool quick);
  // For each of `clients` at the same time.
  static WritePlan several(bool quick, int clients);
};

// Of the memory that copies come from, and of that they go to: more than the caches hold, and at least the largest size.
std::uint64_t circle_bytes(bool quick);
// The same for each of several clients, which share the caches; and its share of the buffer.
std::uint64_t share_bytes(bool quick, int clients);

std::string variable_name(std::uint64_t bytes, int index);

// `storage`: the element inside <storage>, or "".
std::string configuration(const WritePlan& plan, const std::string& storage);

}  // namespace damaris::bench
