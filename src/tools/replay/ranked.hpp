// A replay whose outputs are written by MPI-IO or by servers of Damaris: its processes are ranks of an MPI job on this machine.
// Used by: damaris-replay, one thread.
// Before it: outputs.hpp, and a folder that is filled. After it: the ranks' times; nothing of the job is left but the outputs.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "replay/outputs.hpp"
#include "replay/player.hpp"

namespace damaris::replay {

struct Job {
  std::string plan;  // its file
  Way way = Way::dedicated;
  double stretch = 1;
  std::uint32_t cores = 1;         // of each node that are servers
  std::uint64_t buffer_bytes = 0;  // of each server
};

// Processes of each node, in their order.
std::vector<std::uint32_t> nodes_of(const Plan& plan);
// What a server of `clients` needs so that an output can be stored while the next one is written: as <buffer size> has it.
std::uint64_t buffer_for(const Outputs& outputs, std::uint64_t clients);

// `stored_s`: seconds for which all servers stored, if there are any.
// Throws as play(); Error(DC_E_NO_MPI) if this damaris was built without MPI.
Played play_ranked(const Job& job, const Outputs& outputs, const PlayFolder& folder, const std::atomic<int>& interrupted,
                   double& stored_s);

}  // namespace damaris::replay
