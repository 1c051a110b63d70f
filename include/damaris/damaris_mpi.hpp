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
//   config      the path of the XML, readable by every rank with the same content.
//   clients     gets the communicator of all clients, for the simulation to use in place of `world`. MPI_COMM_NULL on a server and after
//               an error.
//   Owns        `clients` is valid until MPI_Finalize, also after the session: only the caller may free it, and need not.
//   Collective  over `world`.
//   Threads     the one that may call MPI; on a server the whole run is in this call.
//   Returns     the session on a client; nothing on a server, when all clients have finalized and their data are durable: such a
//               rank has nothing more to do than MPI_Finalize.
//   Throws      as dc_mpi_initialize returns: the same Error on every rank when one of them cannot start (DC_E_CONFIG, DC_E_PLACEMENT,
//               DC_E_REGION_IN_USE, DC_E_SHM, ...), after which nobody has a session; on a server, when all clients have finalized, the
//               first failure of the run (DC_E_IO, DC_E_PLUGIN, DC_E_CLIENT_LOST, ...).
inline std::optional<Session> mpi_session(const std::string& config, MPI_Comm world, MPI_Comm& clients) {
  int is_client = 0;
  detail::checked(dc_mpi_initialize(config.c_str(), world, &clients, &is_client));
  if (is_client == 0) return std::nullopt;
  return Session::adopt();
}

}  // namespace damaris
