// Assigns ranks to nodes and roles to ranks: plain arithmetic on the shared-memory groups that MPI reports.
// Used by: every rank, during dc_mpi_initialize only.
// Before it: MPI_COMM_WORLD, or the user's part of it. After it: node groups with one region each.
#pragma once

#include <string>
#include <vector>

namespace damaris::mpi {

// The node of each rank, from the list DAMARIS_RANKS_PER_NODE ("3,5": consecutive ranks, the last number repeats).
// Throws Error(DC_E_CONFIG) if the list is invalid.
std::vector<int> virtual_nodes(const std::string& list, int ranks);

// The role of one rank.
struct Role {
  bool server = false;
  int node = 0;                    // 0 .. nodes-1, in order of the lowest rank
  int server_index = 0;            // in the run: a server's own, or that of a client's server
  int server_count = 0;            // in the run
  int source = -1;                 // a client's rank in the communicator of all clients; -1: a server
  int slot = 0;                    // a client's index in its node group
  int group_clients = 0;           // clients of the node group
  std::vector<int> group_sources;  // their ids, by slot
};

// `node_of[r]`: a number shared by the ranks of one node. The last `dedicated` ranks of every node are servers; a node's clients are split
// contiguously among them. Throws Error(DC_E_PLACEMENT) naming a node with too few ranks.
Role role_of(int rank, const std::vector<int>& node_of, int dedicated);

}  // namespace damaris::mpi
