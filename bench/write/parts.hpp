// The parts of the write benchmark: dc_write against memcpy, each prints a table and adds its rows and details.
// Used by: write_bench.cpp, one thread; the one of several clients forks them.
// Before it: attached clients, or a folder for configurations. After it: the report.
#pragma once

#include <filesystem>
#include <string>

#include "folder.hpp"
#include "local_server.hpp"
#include "report.hpp"
#include "write/classic_client.hpp"
#include "write/client.hpp"

namespace damaris::bench {

// The server has nothing else to do than to release what comes. Every size and method of the plan, in an order drawn anew for each round.
void measure_with_idle_server(WriteClient& client, const WritePlan& plan, Report& report);

// Processor time of a server whose client does nothing, in percent of a core: `windows` times for `window_ms`.
Row measure_idle_server(const LocalServer& server, int windows, int window_ms);

// The server writes the step before to HDF5. `what` it does, for names of rows: "writes". Files that are complete are removed from
// `folder` on the way.
void measure_with_busy_server(WriteClient& client, const LocalServer& server, const WritePlan& plan, const std::string& what,
                              const std::filesystem::path& folder, Report& report);

// Against the classic parts, both beyond the memcpy that neither can do without. The row of 64 B is (classic - memcpy) / (dc_write - memcpy)
// of the medians of each round, the divisor at least 1 ns.
void measure_against_classic_parts(WriteClient& client, ClassicClient& classic, const WritePlan& plan, Report& report);

// The most clients that have a core of their own beside the server's.
int clients_with_own_core();

// 1, 2, 4, ... and `most` clients that write at the same time, each a process. Client i is pinned to the core i, from the first again where
// there are too few, and the server to the last. Rows only for several clients, each on a core of its own.
void measure_several_clients(bool quick, int most, const Folder& folder, Report& report);

}  // namespace damaris::bench
