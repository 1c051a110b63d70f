/* A small simulation on the nodes of a cluster: cluster XML signals | wait READY. Each client writes a part of x in each step.
 * signals: ten steps, with events of all scopes in an order that differs from client to client.
 * wait: makes step 0 durable, writes step 1, makes the file READY when all have, and waits to be killed.
 * Used by: the tests mpi_cluster_*.
 * Before it: cluster_test, which makes the nodes and the XML. After it: what cluster_test looks at.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <damaris/damaris_mpi.h>

enum { kNumbers = 1000, kSteps = 10, kLongestWait = 120 };

static void must(int code) {
  if (code >= 0) return;
  fprintf(stderr, "cluster: %s\n", dc_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void write_part(int rank, int step) {
  double numbers[kNumbers];
  for (int i = 0; i < kNumbers; ++i) numbers[i] = 1000.0 * step + rank;
  must(DC_WRITE("x", step, numbers));
}

static void signal_all(int rank, int step) {
  static const char* const events[] = {"core", "node", "global"};
  for (int i = 0; i < 3; ++i) must(dc_signal(events[(i + rank + step) % 3], step));
}

static void signals(int rank) {
  for (int step = 0; step < kSteps; ++step) {
    write_part(rank, step);
    signal_all(rank, step);
    must(dc_end_iteration(step));
  }
}

static void wait_to_be_killed(MPI_Comm clients, int rank, const char* ready) {
  write_part(rank, 0);
  must(dc_end_iteration(0));
  must(dc_flush(0, 60000));
  write_part(rank, 1);
  MPI_Barrier(clients);
  if (rank == 0) {
    FILE* file = fopen(ready, "w");
    if (file == NULL || fclose(file) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  sleep(kLongestWait);
}

int main(int argc, char** argv) {
  MPI_Comm clients;
  int is_client, rank;
  MPI_Init(&argc, &argv);
  if (argc < 3) return 2;
  must(dc_mpi_initialize(argv[1], MPI_COMM_WORLD, &clients, &is_client));
  if (is_client) {
    MPI_Comm_rank(clients, &rank);
    const int64_t place = rank * kNumbers;
    must(dc_set_position("part", 1, &place));
    if (strcmp(argv[2], "wait") == 0)
      wait_to_be_killed(clients, rank, argv[3]);
    else
      signals(rank);
    must(dc_finalize());
  }
  MPI_Finalize();
  return 0;
}
