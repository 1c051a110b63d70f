// Starts a C++ session inside an MPI program.
// Used by: every rank of the simulation, once, by the main thread, after MPI_Init.
// Before it: the simulation's start. After it: clients continue with their Session; servers serve inside the call.
#pragma once

#include <damaris/damaris_mpi.h>
#include <damaris/damaris.hpp>

#include <optional>
#include <string>

namespace damaris {

// Splits `world`: on every node the last `dedicated cores` ranks become servers, the others clients.
//   config      path of the XML file, readable by every rank with the same content.
//   world       MPI_COMM_WORLD or a part of it, not an inter-communicator; the caller keeps it.
//   clients     gets the communicator of all clients, which the simulation uses in place of `world`. MPI_COMM_NULL on a server and after an
//               error.
//   Owns        the caller may free `clients`, the library never does; valid until MPI_Finalize, also after the session.
//   Collective  over `world`.
//   Threads     the thread that may call MPI; a server serves, and runs its plugins, on it.
//   Waits       for another run that is in the way at most the XML's attach timeout, in seconds unless the XML gives a unit; a server for
//               its clients.
//   Returns     the session on a client; std::nullopt on a server, when all clients have finalized and their data are durable. A server
//               then only has to call MPI_Finalize.
//   Throws      as dc_mpi_initialize returns. When a rank cannot start, the same Error on every rank (DC_E_CONFIG, DC_E_PLACEMENT,
//               DC_E_REGION_IN_USE, DC_E_SHM, ...), and no rank has a session. On a server, after all clients have finalized, the first
//               failure of the run (DC_E_IO, DC_E_PLUGIN, DC_E_CLIENT_LOST, ...).
inline std::optional<Session> mpi_session(const std::string& config, MPI_Comm world, MPI_Comm& clients) {
  int is_client = 0;
  detail::checked(dc_mpi_initialize(config.c_str(), world, &clients, &is_client));
  if (is_client == 0) return std::nullopt;
  return Session::adopt();
}

}  // namespace damaris
