/* An outside simulation in C under MPI: three ranks, the last of which becomes the server. */
#include <damaris/damaris_mpi.h>
#include <stdio.h>

static int failed(const char* call, int code) {
  if (code < 0) fprintf(stderr, "%s: %d %s: %s\n", call, code, dc_strerror(code), dc_last_error());
  return code < 0;
}

static int simulate(MPI_Comm clients) {
  int rank, size;
  MPI_Comm_rank(clients, &rank);
  MPI_Comm_size(clients, &size);
  double x[8];
  for (int step = 0; step < 3; ++step) {
    for (int i = 0; i < 8; ++i) x[i] = 100.0 * rank + 10.0 * step + i;
    if (failed("write", DC_WRITE("x", step, x)) || failed("end", dc_end_iteration(step))) return 1;
  }
  if (failed("finalize", dc_finalize())) return 1;
  if (rank == 0) printf("stored with damaris by %d clients\n", size);
  return 0;
}

int main(int argc, char** argv) {
  MPI_Comm clients;
  int is_client;
  MPI_Init(&argc, &argv);
  int result = failed("start", dc_mpi_initialize("run.xml", MPI_COMM_WORLD, &clients, &is_client));
  if (!result && is_client) result = simulate(clients);
  MPI_Finalize();
  return result;
}
