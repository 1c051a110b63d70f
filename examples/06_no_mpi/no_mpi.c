/* A client without MPI. The XML decides whether a server of its own does the writing or this process itself.
 * Run two of them: ./no_mpi_c detached.xml 0 & ./no_mpi_c detached.xml 1; wait
 */
#include <stdio.h>
#include <stdlib.h>

#include <damaris/damaris.h>

enum { kCells = 20, kSteps = 3 };

static void must(int code) {
  if (code >= 0) return;
  fprintf(stderr, "no_mpi: %s\n", dc_last_error());
  exit(1);
}

static void simulate(int id) {
  double height[kCells];
  for (int step = 0; step < kSteps; step++) {
    for (int i = 0; i < kCells; i++) height[i] = 1000 * step + 100 * id + i;
    must(DC_WRITE("height", step, height));
    must(dc_end_iteration(step));
  }
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: no_mpi_c CONFIG ID   (each process of a run has another ID: 0, 1, ...)\n");
    return 2;
  }
  const int id = atoi(argv[2]);
  must(dc_initialize(argv[1], id));
  simulate(id);
  must(dc_flush(kSteps - 1, 30000)); /* not needed: it shows how to wait until the files are safe */
  must(dc_finalize());
  return 0;
}
