// Starts without MPI: attaches to the detached server of this node, starting it if there is none, or does its work in place.
// Used by: dc_initialize. The MPI start is in src/mpi.
#pragma once

#include <memory>
#include <string>

#include "api/session.hpp"

namespace damaris::api {

// Throws Error as dc_initialize documents; waits at most the XML's attach time-out.
std::unique_ptr<Session> start_without_mpi(const std::string& config, int id);

}  // namespace damaris::api
