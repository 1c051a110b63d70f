// dc_write against memcpy while the server writes the step before to HDF5.
// Used by: the write benchmark, one thread.
// Before it: an attached client of a server with storage. After it: rows, a table.
#pragma once

#include <filesystem>

#include "local_server.hpp"
#include "report.hpp"
#include "write/client.hpp"

namespace damaris::bench {

// `what` the server does, for names of rows: "writes". Files that are complete are removed from `folder` on the way.
void measure_with_busy_server(WriteClient& client, const LocalServer& server, const WritePlan& plan, const std::string& what,
                              const std::filesystem::path& folder, Report& report);

}  // namespace damaris::bench
