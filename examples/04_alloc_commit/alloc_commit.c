/* The kinetic energy is output only. So it is computed in the shared memory itself: no array for it, and no copy of it.
 * Run it on three ranks or more: mpirun -n 3 ./alloc_commit_c
 */
#include <stdio.h>
#include <stdlib.h>

#include <damaris/damaris_mpi.h>

enum { kCells = 50, kSteps = 3 };

static void must(int code) {
  if (code >= 0) return;
  fprintf(stderr, "alloc_commit: %s\n", dc_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void advance(double velocity[kCells], int rank, int step) {
  for (int i = 0; i < kCells; i++) velocity[i] = step + 10 * rank + 0.5 * i;
}

static void write_energy(const double velocity[kCells], int step) {
  void* block;
  must(dc_alloc("energy", step, 0, &block)); /* ours until commit */
  double* energy = block;
  for (int i = 0; i < kCells; i++) energy[i] = 0.5 * velocity[i] * velocity[i];
  must(dc_commit("energy", step, 0)); /* the server's now: the pointer must not be used any more */
}

static void simulate(MPI_Comm clients) {
  double velocity[kCells];
  int rank;
  MPI_Comm_rank(clients, &rank);
  for (int step = 0; step < kSteps; step++) {
    advance(velocity, rank, step);
    write_energy(velocity, step);
    must(dc_end_iteration(step));
  }
}

int main(int argc, char** argv) {
  MPI_Comm clients;
  int is_client;
  MPI_Init(&argc, &argv);
  must(dc_mpi_initialize(argc > 1 ? argv[1] : "alloc_commit.xml", MPI_COMM_WORLD, &clients, &is_client));
  if (is_client) {
    simulate(clients);
    must(dc_finalize());
  }
  MPI_Finalize();
  return 0;
}
