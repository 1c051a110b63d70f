// Selects the processors of a server and pins it to them.
// Used by: start.cpp, on a server rank, once, before plugins start threads.
// Before it: the topology from hwloc. After it: the server's threads, those of plugins included, run there.
#pragma once

#include <hwloc.h>

#include <vector>

namespace damaris::mpi {

// The ranks of one node, and this server among its servers.
struct NodeRanks {
  int ranks = 1;
  int servers = 1;
  int index = 0;  // of this server: 0 .. servers - 1
};

// The OS numbers of the processors (hardware threads) in `topology` to run on: a whole core if there is one for every rank, else one
// processor if there is one for every rank. None if there are more ranks than processors: binding would only hurt. The servers of a node
// take the last core of equal parts of it, so that with two servers on two sockets each socket has one.
std::vector<int> processors_of(hwloc_topology_t topology, const NodeRanks& node);

// Binds the calling thread, and those that it starts later, to the processors of this server. `node_of`: the node of each rank; `servers`: of a
// node. Does nothing with several virtual nodes on one machine, whose ranks share its cores, nor if the launcher has already bound the rank:
// then there are fewer allowed processors than ranks.
void pin_server(const std::vector<int>& node_of, int rank, int servers);

}  // namespace damaris::mpi
