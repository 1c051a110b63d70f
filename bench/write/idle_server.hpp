// dc_write against memcpy while the server has nothing else to do than to release what comes.
// Used by: the write benchmark, one thread.
// Before it: an attached client. After it: rows, a table.
#pragma once

#include "report.hpp"
#include "write/client.hpp"

namespace damaris::bench {

// Measures every size and method of the plan, in an order drawn anew for each round, prints the tables and adds the rows.
void measure_with_idle_server(WriteClient& client, const WritePlan& plan, Report& report);

}  // namespace damaris::bench
