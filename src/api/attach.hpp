// Starts without MPI: attaches to the detached server of this node, starting it if there is none, or does its work in place. A server that is
// started outlives this process, its terminal and its mpirun.
// Used by: dc_initialize, and `damaris-server --detach`; the start under MPI, which is in src/mpi, for the server's library.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "api/session.hpp"
#include "server/library/serving.hpp"

namespace damaris::api {

// Runs `damaris-server <config> [--clients N]`, with N if it is positive, in a session of its own, and waits until it is ready, at most
// `timeout_ms`. The caller holds the start lock.
// Throws Error: the server's own code and message if it cannot start, DC_E_TIMEOUT, or DC_E_CONFIG if the program is missing.
void spawn_server(const std::string& config, int clients, std::int64_t timeout_ms);

// Loads libdamaris_server from the folder of libdamaris, on the first call; never unloads. Throws Error(DC_E_CONFIG) if the library is
// missing, Error(DC_E_VERSION) if of another version.
const server::Library& server_library();

// Throws Error as dc_initialize documents; waits at most the XML's attach time-out.
std::unique_ptr<Session> start_without_mpi(const std::string& config, int id);

}  // namespace damaris::api
