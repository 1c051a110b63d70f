// A barrier that sleeps where MPI's own would spin: waiting ranks take no processor from those that still write.
// Used by: every computing rank, between the parts of a phase and where one process syncs the file of several.
#pragma once

#include <mpi.h>

#include <chrono>
#include <thread>

namespace damaris::bench {

// Collective over `processes`.
inline void quiet_barrier(MPI_Comm processes) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(processes, &request);
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

}  // namespace damaris::bench
