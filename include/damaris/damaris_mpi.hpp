// Starting a C++ session inside an MPI program.
// Used by: every rank of the simulation, once, by the main thread, after MPI_Init.
// Before it: the simulation's start. After it: clients go on with their Session; servers serve inside the call.
#pragma once

#include <damaris/damaris_mpi.h>
#include <damaris/damaris.hpp>

#include <optional>
#include <string>

namespace damaris {

// Splits `world`: on every node the last `dedicated cores` ranks become servers, the others clients.
//   clients     gets the communicator of all clients, for the simulation to use in place of `world`; freed when the session ends.
//               MPI_COMM_NULL on a server.
//   Collective  over `world`.
//   Returns     the session on a client; nothing on a server, when all clients have finalized and their data are durable: such a
//               rank has nothing more to do than MPI_Finalize.
//   Throws      the same Error on every rank when one of them cannot start; on a server also the first failure of the run.
inline std::optional<Session> mpi_session(const std::string& config, MPI_Comm world, MPI_Comm& clients) {
  int is_client = 0;
  detail::checked(dc_mpi_initialize(config.c_str(), world, &clients, &is_client));
  if (is_client == 0) return std::nullopt;
  return Session::adopt();
}

}  // namespace damaris
