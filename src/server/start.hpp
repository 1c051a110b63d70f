// Starts a server, in place, as a rank of an MPI job or as a process of its own: excludes other runs on its output, clears the regions of
// dead servers, creates its region and loads its plugins.
// Used by: damaris-server; libdamaris and libdamaris_mpi through server/library/serving.hpp.
// Before it: a configuration. After it: the server, ready for its clients.
#pragma once

#include "server/library/serving.hpp"

namespace damaris::server {

// Implements Library::start.
std::unique_ptr<Serving> start_server(const Configuration& configuration, StartOptions options);

}  // namespace damaris::server
