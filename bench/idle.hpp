// What a server costs that has nothing to do.
// Used by: the write benchmark, with a client attached that does nothing.
#pragma once

#include "local_server.hpp"
#include "report.hpp"

namespace damaris::bench {

// Processor time of the server in percent of a core, measured `windows` times for `window_ms`.
Row measure_idle_server(const LocalServer& server, int windows, int window_ms);

}  // namespace damaris::bench
