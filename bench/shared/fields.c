/* Writes the same fields in each step and prints how long each step takes until it is durable on all servers, in seconds.
 * Used by: bench_shared.py, as an MPI job: fields XML STEPS EDGE.
 * Before it: the XML, with a variable "field" of EDGE^3 reals a client. After it: the files, which bench_shared.py compares.
 */
#include <damaris/damaris_mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { kTimeoutMs = 120000 };

static void must(int code) {
  if (code >= 0) return;
  fprintf(stderr, "fields: %s\n", dc_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Waves with some noise in the last bits, as of a simulation. */
static void fill(float* field, int edge, int rank) {
  unsigned noise = 12345u + (unsigned)rank;
  for (int z = 0; z < edge; ++z)
    for (int y = 0; y < edge; ++y)
      for (int x = 0; x < edge; ++x) {
        noise = noise * 1664525u + 1013904223u;
        *field++ = 300 + 5 * sinf(0.05f * (float)x) * cosf(0.04f * (float)y) * sinf(0.03f * (float)(z + rank)) +
                   1e-3f * (float)(noise >> 16) / 65536;
      }
}

static void simulate(MPI_Comm clients, int steps, int edge) {
  int rank;
  MPI_Comm_rank(clients, &rank);
  float* field = malloc((size_t)edge * edge * edge * sizeof *field);
  const int64_t place[3] = {0, 0, (int64_t)rank * edge};
  if (field == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  fill(field, edge, rank);
  must(dc_set_position("cube", 3, place));
  for (int step = 0; step < steps; ++step) {
    MPI_Barrier(clients);
    const double begin = MPI_Wtime();
    must(dc_write("field", step, field));
    must(dc_end_iteration(step));
    must(dc_flush(step, kTimeoutMs));
    double took = MPI_Wtime() - begin, longest;
    MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, clients);
    if (rank == 0) printf("%.6f\n", longest);
  }
  free(field);
}

int main(int argc, char** argv) {
  MPI_Comm clients;
  int is_client;
  MPI_Init(&argc, &argv);
  if (argc != 4) return 2;
  must(dc_mpi_initialize(argv[1], MPI_COMM_WORLD, &clients, &is_client));
  if (is_client) {
    simulate(clients, atoi(argv[2]), atoi(argv[3]));
    must(dc_finalize());
  }
  MPI_Finalize();
  return 0;
}
