// Starts a detached damaris-server that outlives this process, its terminal and its mpirun.
// Used by: the first client of a node to come, while it holds the lock on the configuration file.
#pragma once

#include <cstdint>
#include <string>

namespace damaris::api {

// Runs `damaris-server <config> [--clients N]`, N given when positive, in a session of its own and waits until it is ready, at most `timeout_ms`.
// Throws Error: the server's own code and sentence when it cannot start, DC_E_TIMEOUT, or DC_E_CONFIG when the program is missing.
void spawn_server(const std::string& config, int clients, std::int64_t timeout_ms);

}  // namespace damaris::api
