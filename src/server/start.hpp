// The one way a server starts, be it in place, a rank of an MPI job or a process of its own: alone on its output, after what dead servers
// left is cleared, with a region and its plugins.
// Used by: damaris-server; libdamaris and libdamaris_mpi through server/library/serving.hpp.
// Before it: a configuration. After it: the server, ready for its clients.
#pragma once

#include "server/library/serving.hpp"

namespace damaris::server {

// As Library::start, which it is.
std::unique_ptr<Serving> start_server(const Configuration& configuration, StartOptions options);

}  // namespace damaris::server
