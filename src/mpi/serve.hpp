// Runs a server rank until its clients have finalized, or until SIGTERM makes it drain and return.
// Used by: dc_mpi_initialize on server ranks only.
#pragma once

#include "server/library/serving.hpp"

namespace damaris::mpi {

// Serves and returns the first failure of the run. During the call SIGTERM drains instead of killing; the old handler is restored.
Status serve(server::Serving& server);

}  // namespace damaris::mpi
