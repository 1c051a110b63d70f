/* Two clients, each with a server of its own, write one file together: shared_death XML [die]. With `die` the second server is killed
 * as a crash would, when step 0 is durable and the first one has step 1 and waits for it.
 * Used by: the test mpi_shared_death, four ranks on two virtual nodes.
 * Before it: shared_death_test, which makes the XML. After it: what shared_death_test looks at.
 */
#include <stdio.h>

#include <damaris/damaris_mpi.h>

enum { kNumbers = 1000, kSteps = 3 };

static void must(int code) {
  if (code >= 0) return;
  fprintf(stderr, "shared_death: %s\n", dc_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void store(int rank, int step) {
  double numbers[kNumbers];
  for (int i = 0; i < kNumbers; ++i) numbers[i] = 10.0 * step + rank;
  must(DC_WRITE("x", step, numbers));
  must(dc_end_iteration(step));
  must(dc_flush(step, 30000));
}

static void simulate(MPI_Comm clients, int die) {
  int rank;
  MPI_Comm_rank(clients, &rank);
  const int64_t place = rank * kNumbers;
  must(dc_set_position("line", 1, &place));
  store(rank, 0);
  MPI_Barrier(clients);
  if (die && rank == 1) {
    must(dc_signal("die", 1));
    MPI_Barrier(clients); /* for ever: the launcher ends the job */
  }
  for (int step = 1; step < kSteps; ++step) store(rank, step);
}

int main(int argc, char** argv) {
  MPI_Comm clients;
  int is_client;
  MPI_Init(&argc, &argv);
  if (argc < 2) return 2;
  must(dc_mpi_initialize(argv[1], MPI_COMM_WORLD, &clients, &is_client));
  if (is_client) {
    simulate(clients, argc > 2);
    must(dc_finalize());
  }
  MPI_Finalize();
  return 0;
}
