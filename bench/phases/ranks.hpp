// How many processes a communicator has, and which of them this one is.
// Used by: the program and its ways.
#pragma once

#include <mpi.h>

namespace damaris::bench {

inline int size_of(MPI_Comm communicator) {
  int size = 0;
  MPI_Comm_size(communicator, &size);
  return size;
}

inline int rank_in(MPI_Comm communicator) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  return rank;
}

}  // namespace damaris::bench
