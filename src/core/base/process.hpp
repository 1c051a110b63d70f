// Which process: what /proc says of one, whether this one is a fork of the creator of an object, and the run that it belongs to.
// Used by: the server of a recording; every call of the C interface, at the cost of one load, and destructors that do more than free
// memory; the start of a run without MPI.
// Before it: a process number; an object; the environment of launchers and batch systems. After it: who lives; in a fork, calls are refused
// and destructors do nothing; the region's header, the storage's lock on its basename.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace damaris {

struct ProcessStat {
  char state = 0;  // 'Z' and 'X': it has ended
  std::int32_t parent = 0;
  int threads = 0;
  std::uint64_t start_time = 0;  // clock ticks since boot
};

// The start time tells a process from a later one of the same number. Nothing if there is no such process, or /proc does not show it.
std::optional<ProcessStat> stat_of(std::int32_t pid) noexcept;

// 0 if unknown.
inline std::uint64_t start_time_of(std::int32_t pid) noexcept { return stat_of(pid).value_or(ProcessStat()).start_time; }

// Identifies the process that created an object: a fork inherits a copy, and must not finalize, store or remove the creator's resources.
// Use it as a member. A child of vfork() shares its parent's memory and is indistinguishable from it: it may only exec or _exit.
class CreatorProcess {
 public:
  CreatorProcess() noexcept;
  bool is_this_process() const noexcept { return word_->load(std::memory_order_relaxed) == mark_; }

 private:
  const std::atomic<std::uint64_t>* word_;  // one per process; the kernel clears it in a fork
  std::uint64_t mark_;
};

// Equal in all processes of one run without MPI and different in every other run.
// Derived from the text of the configuration and the first of these that exists: DAMARIS_JOB; the launcher's run number; the batch job; the
// launcher as a process of this machine. Without any of them each process is a run of its own.
std::string run_identity(std::string_view xml);

}  // namespace damaris
