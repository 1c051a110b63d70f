// Starts a detached damaris-server that outlives this process, its terminal and its mpirun.
// Used by: the first client of a node that finds no server, and `damaris-server --detach`; each holds the start lock during the call.
// Before it: the start lock. After it: a server that clients can attach to.
#pragma once

#include <cstdint>
#include <string>

namespace damaris::api {

// Runs `damaris-server <config> [--clients N]`, with N if it is positive, in a session of its own, and waits until it is ready, at most
// `timeout_ms`.
// Throws Error: the server's own code and message if it cannot start, DC_E_TIMEOUT, or DC_E_CONFIG if the program is missing.
void spawn_server(const std::string& config, int clients, std::int64_t timeout_ms);

}  // namespace damaris::api
