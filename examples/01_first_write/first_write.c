/* Each client hands a tile of temperature to the dedicated core in three steps and goes on computing.
 * Run it on three ranks or more: mpirun -n 3 ./first_write_c
 */
#include <stdio.h>
#include <stdlib.h>

#include <damaris/damaris_mpi.h>

enum { kNx = 8, kNy = 4, kSteps = 3 };

/* A negative code is an error, and dc_last_error() names place, cause and remedy. */
static void must(int code) {
  if (code >= 0) return;
  fprintf(stderr, "first_write: %s\n", dc_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void compute(double temperature[kNy][kNx], int rank, int step) {
  for (int j = 0; j < kNy; j++)
    for (int i = 0; i < kNx; i++) temperature[j][i] = 1000 * step + 100 * rank + 10 * j + i;
}

static void simulate(MPI_Comm clients) {
  double temperature[kNy][kNx];
  int rank;
  MPI_Comm_rank(clients, &rank);
  for (int step = 0; step < kSteps; step++) {
    compute(temperature, rank, step);
    must(DC_WRITE("temperature", step, &temperature[0][0])); /* copied: the array may be reused at once */
    must(dc_end_iteration(step));                            /* nothing waits here: the dedicated core writes the file */
  }
}

int main(int argc, char** argv) {
  MPI_Comm clients;
  int rank, is_client;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (dc_mpi_initialize(argc > 1 ? argv[1] : "first_write.xml", MPI_COMM_WORLD, &clients, &is_client) < 0) {
    /* A start fails on all ranks alike, so one says why; a server, what went wrong in its run. */
    if (rank == 0 || !is_client) fprintf(stderr, "first_write: %s\n", dc_last_error());
    MPI_Finalize();
    return 1;
  }
  if (is_client) { /* a dedicated core comes here when all clients have finalized and has nothing more to do */
    simulate(clients);
    must(dc_finalize());
  }
  MPI_Finalize();
  return 0;
}
