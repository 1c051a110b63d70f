// Plays a plan: a thread does the I/O of each process, in a folder, when the plan says and after what it needs.
// Used by: the verb; one thread plays at a time.
// Before it: a plan that evaluate() has not refused, and a folder that is filled. After it: how long all that took.
//
// Each thread has a virtual clock, which goes on by the rules of evaluate() with the measured times of I/O: so the plan's dependencies
// hold, and a thread that the system wakes late catches up in its next gap. It sleeps only before I/O: a gap before a message delays
// nothing but the message's time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "replay/plan.hpp"
#include "replay/play_folder.hpp"

namespace damaris::replay {

// Units: ns since the start.
struct Played {
  std::uint64_t total = 0;           // when the last process was done, by the system's clock
  std::vector<std::uint64_t> ends;   // of each process, by its virtual clock
  std::vector<std::uint64_t> io_ns;  // what each operation took, if it is I/O
  std::vector<std::uint64_t> late;   // by how much each operation of I/O began behind its virtual clock
  std::uint64_t short_reads = 0;     // that met the end of a file
};

// Calls `progress`, if there is one, with the number of operations that are done, some times a second.
// Throws Error(DC_E_IO) about the first operation that failed, with its line; Error(DC_E_STOPPED) when `interrupted` has become another
// than 0; Error(DC_E_MEMORY) if there cannot be so many threads. No thread is left.
Played play(const Plan& plan, const PlayFolder& folder, const std::atomic<int>& interrupted,
            const std::function<void(std::size_t)>& progress = {});

}  // namespace damaris::replay
