// A storage that hangs, or takes few bytes a second, on request: storage/slow_storage.c under the server.
// Used by: bench never-stops, one thread.
// Before it: a folder. After it: a LocalServer, whose files below that folder are written at the speed given here.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

namespace damaris::bench {

// A library of the benchmarks' own, beside the built tree's programs or installed. Throws Error(DC_E_CONFIG) if it is not there.
std::filesystem::path bench_library(const std::string& name);

class SlowTarget {
 public:
  // For what is written below `folder`/out; a server that starts while this object lives has it under it.
  explicit SlowTarget(const std::filesystem::path& folder);
  ~SlowTarget();
  SlowTarget(const SlowTarget&) = delete;
  SlowTarget& operator=(const SlowTarget&) = delete;

  // Every write from now on waits until `seconds` have passed.
  void hang(double seconds);
  void set_rate(std::uint64_t bytes_per_s);
  // That have been written so far.
  std::uint64_t bytes() const;

 private:
  struct Queue;
  Queue* queue_ = nullptr;
};

}  // namespace damaris::bench
