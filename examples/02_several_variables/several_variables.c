/* Several variables in a step: the interiors of two fields with a halo, which the server joins to global arrays, and a number.
 * Run it on three ranks or more: mpirun -n 3 ./several_variables_c
 */
#include <stdio.h>
#include <stdlib.h>

#include <damaris/damaris_mpi.h>

enum { kNx = 6, kNy = 4, kHalo = 1, kSteps = 2, kRow = kNx + 2 * kHalo };

struct state {
  float temperature[kNy + 2 * kHalo][kRow];
  double pressure[kNy + 2 * kHalo][kRow];
  int iterations;
};

static void must(int code) {
  if (code >= 0) return;
  fprintf(stderr, "several_variables: %s\n", dc_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A value that encodes its place in the global array; the halo, which is not written, is 0. */
static void compute(struct state* state, int rank, int step) {
  *state = (struct state){.iterations = 10 * step + rank};
  for (int j = 0; j < kNy; j++)
    for (int i = 0; i < kNx; i++) {
      const int place = 1000 * step + 100 * j + rank * kNx + i;
      state->temperature[j + kHalo][i + kHalo] = (float)place;
      state->pressure[j + kHalo][i + kHalo] = place + 0.5;
    }
}

/* Extents and strides say which part of an array is meant; nothing but the interior is copied. */
static void hand_over(const struct state* state, int step) {
  const int64_t extents[2] = {kNy, kNx};
  const ptrdiff_t float_strides[2] = {kRow * sizeof(float), sizeof(float)};
  const ptrdiff_t double_strides[2] = {kRow * sizeof(double), sizeof(double)};
  must(dc_write_typed("temperature", step, 0, DC_FLOAT32, &state->temperature[kHalo][kHalo], 2, extents, float_strides));
  must(dc_write_typed("pressure", step, 0, DC_FLOAT64, &state->pressure[kHalo][kHalo], 2, extents, double_strides));
  must(DC_WRITE("iterations", step, &state->iterations));
  must(dc_set_time(step, 0.25 * step));
}

static void simulate(MPI_Comm clients) {
  struct state state;
  int rank, tiles;
  MPI_Comm_rank(clients, &rank);
  MPI_Comm_size(clients, &tiles);
  const int64_t place[2] = {0, rank * kNx};
  must(dc_set_parameter("tiles", tiles));
  must(dc_set_position("field", 2, place));
  must(dc_set_position("fine_field", 2, place));
  for (int step = 0; step < kSteps; step++) {
    compute(&state, rank, step);
    hand_over(&state, step);
    must(dc_end_iteration(step));
  }
}

int main(int argc, char** argv) {
  MPI_Comm clients;
  int is_client;
  MPI_Init(&argc, &argv);
  must(dc_mpi_initialize(argc > 1 ? argv[1] : "several_variables.xml", MPI_COMM_WORLD, &clients, &is_client));
  if (is_client) {
    simulate(clients);
    must(dc_finalize());
  }
  MPI_Finalize();
  return 0;
}
