/* Particles of a compound type whose number changes with step and rank; in one step a client has none.
 * Run it on three ranks or more: mpirun -n 3 ./variable_size_c
 */
#include <stdio.h>
#include <stdlib.h>

#include <damaris/damaris_mpi.h>

enum { kMost = 8, kSteps = 4 };

/* As the type "particle" in the XML. */
struct particle {
  double position[3];
  float charge;
  int id;
};

static void must(int code) {
  if (code >= 0) return;
  fprintf(stderr, "variable_size: %s\n", dc_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Returns how many there are. */
static int move_particles(struct particle* particles, int rank, int step) {
  const int count = 2 * step + rank;
  for (int p = 0; p < count; p++) particles[p] = (struct particle){{p, rank, step}, (float)(p % 2 == 0 ? 1 : -1), 100 * rank + p};
  return count;
}

static void simulate(MPI_Comm clients) {
  struct particle particles[kMost];
  int rank;
  MPI_Comm_rank(clients, &rank);
  for (int step = 0; step < kSteps; step++) {
    const int64_t count = move_particles(particles, rank, step);
    must(dc_set_shape("particles", 1, &count));
    must(dc_write_typed("particles", step, 0, DC_COMPOUND, particles, 1, &count, NULL));
    must(dc_end_iteration(step));
  }
}

int main(int argc, char** argv) {
  MPI_Comm clients;
  int is_client;
  MPI_Init(&argc, &argv);
  must(dc_mpi_initialize(argc > 1 ? argv[1] : "variable_size.xml", MPI_COMM_WORLD, &clients, &is_client));
  if (is_client) {
    simulate(clients);
    must(dc_finalize());
  }
  MPI_Finalize();
  return 0;
}
