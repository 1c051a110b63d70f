/* dc_mpi_initialize before MPI_Init and after MPI_Finalize: refused, with the reason.
 * Runs on one rank or more, by hand or by mpi-run.
 * Before it: nothing. After it: ctest reads the exit status.
 */
#include <damaris/damaris_mpi.h>

#include <stdio.h>
#include <string.h>

static int refused(const char* when, const char* sentence) {
  MPI_Comm clients;
  int is_client;
  const int code = dc_mpi_initialize("any.xml", MPI_COMM_WORLD, &clients, &is_client);
  if (code == DC_E_NO_MPI && strcmp(dc_last_error(), sentence) == 0) return 1;
  printf("FAILED %s: %d %s\n", when, code, dc_last_error());
  return 0;
}

int main(int argc, char** argv) {
  int good =
      refused("before MPI_Init", "dc_mpi_initialize: MPI is not initialized; call MPI_Init first, or dc_initialize without MPI");
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  good &= refused("after MPI_Finalize", "dc_mpi_initialize: MPI is finalized; start Damaris before MPI_Finalize");
  return good ? 0 : 1;
}
