// The same data written in another way: what the processes write in one go, as outputs of one file, of a file each, or of servers.
// Used by: the verb, and each process that plays for it; all get the same of a plan.
// Before it: a plan. After it: a plan whose last files are the outputs, for the player.
//
// Writes of a process between two of its communications are a burst. Bursts that can be at the same time, as no chain of dependencies
// leads from one to the other, are an output: so a collective call of an output cannot wait for itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/plan.hpp"

namespace damaris::replay {

enum class Way : std::uint8_t { file_per_process, collective, dedicated };
constexpr const char* kWayNames[] = {"file-per-process", "collective", "dedicated"};  // in their order

struct Outputs {
  Plan plan;                         // the other files' I/O as it was, and opens, writes, syncs and closes of the outputs
  std::uint32_t first_file = kNone;  // index of the first output; of file_per_process outputs have a file for each writer
  std::string folder;                // of the outputs
  std::vector<std::vector<std::uint32_t>> writers;  // of each output, as indices of processes
  std::uint32_t variables = 0;  // most writes of a process to an output; flags of a write is its place among them
  std::uint64_t bytes = 0, largest_output = 0, largest_share = 0;  // of all outputs, of one, of a process in one
  std::uint64_t left_out = 0;                                      // reads of files that are written in another way
};

// `stretch`: by how much longer the processes compute.
// Throws Error(DC_E_CONFIG) if nothing is written in blocks for which another way would make a difference.
Outputs rewrite(const Plan& plan, Way way, double stretch);

}  // namespace damaris::replay
