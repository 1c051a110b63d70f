/* Every second step the clients signal "look": the dedicated core then calls the plugin on the data of that step.
 * Run it on three ranks or more: mpirun -n 3 ./signal_and_plugin_c
 */
#include <stdio.h>
#include <stdlib.h>

#include <damaris/damaris_mpi.h>

enum { kCells = 100, kSteps = 4 };

static void must(int code) {
  if (code >= 0) return;
  fprintf(stderr, "signal_and_plugin: %s\n", dc_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void simulate(MPI_Comm clients) {
  double temperature[kCells];
  int rank;
  MPI_Comm_rank(clients, &rank);
  for (int step = 0; step < kSteps; step++) {
    for (int i = 0; i < kCells; i++) temperature[i] = 100 * rank + i + 0.25 * step;
    must(DC_WRITE("temperature", step, temperature));
    if (step % 2 == 0) must(dc_signal("look", step)); /* after the data it is about, before the end of the step */
    must(dc_end_iteration(step));
  }
}

int main(int argc, char** argv) {
  MPI_Comm clients;
  int is_client;
  MPI_Init(&argc, &argv);
  must(dc_mpi_initialize(argc > 1 ? argv[1] : "signal_and_plugin.xml", MPI_COMM_WORLD, &clients, &is_client));
  if (is_client) {
    simulate(clients);
    must(dc_finalize());
  }
  MPI_Finalize();
  return 0;
}
