// Which processors a server takes for itself.
// Used by: serve.cpp, on a server rank, once.
// Before it: hwloc knows the machine. After it: the server's thread, and those that it starts, run there.
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

// The system's numbers of the processors (hardware threads) to run on, of those in `topology`: a whole core where every rank can have one,
// and one processor where every rank can have one of those. None with more ranks than processors: binding would only hurt. The servers of
// a node take the last core of equal parts of it, so that with two of them each of two sockets has one.
std::vector<int> processors_of(hwloc_topology_t topology, const NodeRanks& node);

// Binds the calling thread, among the processors that it may use. A launcher that has bound the rank already decided: then there are
// fewer of them than ranks.
void pin_server(const NodeRanks& node);

}  // namespace damaris::mpi
