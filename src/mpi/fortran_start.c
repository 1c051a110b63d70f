/* dc_mpi_initialize for Fortran: communicators as integers, which both MPI modules of Fortran provide.
 * Used by: fortran/damaris_mpi.F90, on every rank of the simulation, once, by the main thread.
 * Before it: df_mpi_initialize. After it: dc_mpi_initialize.
 */
#include <damaris/damaris_mpi.h>

int damaris_mpi_initialize_fortran(const char* config, MPI_Fint world, MPI_Fint* clients, int* is_client) {
  MPI_Comm clients_comm = MPI_COMM_NULL;
  const int code = dc_mpi_initialize(config, MPI_Comm_f2c(world), &clients_comm, is_client);
  *clients = MPI_Comm_c2f(clients_comm);
  return code;
}
