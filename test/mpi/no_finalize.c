/* A program that forgets dc_finalize: MPI_Finalize does it, and neither the clients nor their server hang.
 * Runs on three ranks, the last of them the server.
 * Before it: mpi-run with a time limit. After it: ctest reads the exit status; the server's is 1 unless all data came.
 */
#include <damaris/damaris_mpi.h>

#include <stdio.h>

static int compute(void) {
  const int x[4] = {1, 2, 3, 4};
  for (int step = 0; step < 3; ++step)
    if (dc_write("x", step, x) != DC_OK || dc_end_iteration(step) != DC_OK) return 0;
  return 1;
}

int main(int argc, char** argv) {
  MPI_Comm clients;
  int is_client, good;
  MPI_Init(&argc, &argv);
  const int code = dc_mpi_initialize(argv[1], MPI_COMM_WORLD, &clients, &is_client);
  good = code == DC_OK && (!is_client || compute());
  if (!good) printf("FAILED: %d %s\n", code, dc_last_error());
  MPI_Finalize();
  return good ? 0 : 1;
}
