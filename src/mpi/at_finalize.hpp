// Ends the session of a program that calls MPI_Finalize without dc_finalize; otherwise the server would wait for the client, and
// MPI_Finalize for the server.
// Used by: client processes under MPI, inside MPI_Finalize.
// Before it: dc_mpi_initialize. After it: the server receives the client's finalize and returns.
#pragma once

namespace damaris::mpi {

// Call after a session has started. MPI_Finalize first deletes the attributes of MPI_COMM_SELF (MPI standard, "Allowing User Functions at
// MPI Finalization"), while all of MPI still works.
void finalize_before_mpi();

}  // namespace damaris::mpi
