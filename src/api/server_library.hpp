// Loads libdamaris_server from the folder of libdamaris.
// Used by: the start of a session that finds no server, and of an MPI job; at start-up.
#pragma once

#include "server/library/serving.hpp"

namespace damaris::api {

// Loads on the first call; never unloads. Throws Error(DC_E_CONFIG) if the library is missing, Error(DC_E_VERSION) if of another version.
const server::Library& server_library();

}  // namespace damaris::api
