// Neighbouring processes that write together: what the processes of a node would be.
// Used by: the ways with files of several processes. Collective over `processes` to make.
#pragma once

#include <mpi.h>

#include "phases/grid.hpp"

namespace damaris::bench {

struct Group {
  int index = 0;
  int first = 0;  // its processes are [first, first + size) of all
  int size = 0;
  int processes = 0;  // all
  MPI_Comm members = MPI_COMM_NULL;

  Group(MPI_Comm all, int groups) {
    int rank = 0;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &processes);
    while (processes * (index + 1) / groups <= rank) ++index;
    first = processes * index / groups;
    size = processes * (index + 1) / groups - first;
    MPI_Comm_split(all, index, rank, &members);
  }
  ~Group() { MPI_Comm_free(&members); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  Slab slab(const Grid& grid, int member) const { return grid.slab(first + member, processes); }
  // The rows of all its processes.
  Slab slab(const Grid& grid) const {
    const Slab low = slab(grid, 0), high = slab(grid, size - 1);
    return {low.first, high.first + high.count - low.first};
  }
};

}  // namespace damaris::bench
