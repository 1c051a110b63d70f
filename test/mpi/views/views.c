/* Four clients on two virtual nodes write tiles of a field on a mesh, a rarer one, and lists: what check_views.py reads as one run.
 * Used by: the test mpi_views, six ranks.
 * Before it: mpirun. After it: run_example and check_views.py.
 */
#include <stdio.h>

#include <damaris/damaris_mpi.h>

enum { kNx = 3, kNy = 2, kSteps = 3 };

static void must(int code) {
  if (code >= 0) return;
  fprintf(stderr, "views: %s\n", dc_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The places of the tile's columns; the first client also knows those of the rows. They move, but the first ones label the field. */
static void write_places(int rank, int step) {
  double x[kNx], y[kNy] = {-5, 5};
  for (int i = 0; i < kNx; i++) x[i] = 100.0 * step + 0.5 * (rank * kNx + i);
  must(DC_WRITE("x", step, x));
  if (rank == 0) must(DC_WRITE("y", step, y));
}

static void write_fields(int rank, int step) {
  float height[kNy][kNx];
  int ids[2] = {rank, step};
  for (int j = 0; j < kNy; j++)
    for (int i = 0; i < kNx; i++) height[j][i] = (float)(1000 * step + 100 * j + rank * kNx + i);
  must(DC_WRITE("height", step, &height[0][0]));
  must(DC_WRITE("rain", step, &height[0][0])); /* only when it is due */
  must(DC_WRITE("ids", step, ids));
}

static void simulate(MPI_Comm clients) {
  int rank, tiles;
  MPI_Comm_rank(clients, &rank);
  MPI_Comm_size(clients, &tiles);
  const int64_t place[2] = {0, rank * kNx};
  must(dc_set_parameter("tiles", tiles));
  must(dc_set_position("tile", 2, place));
  must(dc_set_position("columns", 1, &place[1]));
  for (int step = 0; step < kSteps; step++) {
    must(dc_set_time(step, 0.25 * step));
    write_places(rank, step);
    write_fields(rank, step);
    must(dc_end_iteration(step));
  }
}

int main(int argc, char** argv) {
  MPI_Comm clients;
  int is_client;
  MPI_Init(&argc, &argv);
  must(dc_mpi_initialize("views.xml", MPI_COMM_WORLD, &clients, &is_client));
  if (is_client) {
    simulate(clients);
    must(dc_finalize());
  }
  MPI_Finalize();
  return 0;
}
