// What /proc says of a process: its start time tells it from a later one of the same number.
// Used by: the identity of a run, and the server of a recording; off the hot path.
// Before it: a process number. After it: run_identity.hpp, tools/record/process_watch.hpp.
#pragma once

#include <cstdint>
#include <optional>

namespace damaris {

struct ProcessStat {
  char state = 0;  // 'Z' and 'X': it has ended
  int threads = 0;
  std::uint64_t start_time = 0;  // clock ticks since boot
};

// Nothing if there is no such process, or /proc does not show it.
std::optional<ProcessStat> stat_of(std::int32_t pid) noexcept;

// 0 if unknown.
inline std::uint64_t start_time_of(std::int32_t pid) noexcept { return stat_of(pid).value_or(ProcessStat()).start_time; }

}  // namespace damaris
