// Loads libdamaris_server, which lies beside libdamaris.
// Used by: the start of a session that finds no server, and of an MPI job; at start-up.
#pragma once

#include "server/library/serving.hpp"

namespace damaris::api {

// Loaded at the first call, and never unloaded. Throws Error(DC_E_CONFIG) when it is missing or of another version.
const server::Library& server_library();

}  // namespace damaris::api
