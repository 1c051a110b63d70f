// The main function of test programs that run on several MPI ranks.
// Runs on every rank, on its main thread, the only one that calls MPI.
// Before it: scripts/mpi-run starts the ranks; after it: ctest reads the exit status.
#define CATCH_CONFIG_RUNNER
#include <mpi.h>

#include <catch2/catch.hpp>

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  const int mine = Catch::Session().run(argc, argv) == 0 ? 0 : 1;
  int any = 0;
  MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any;
}
