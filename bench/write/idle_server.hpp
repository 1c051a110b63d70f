// dc_write against memcpy, and against the classic parts, while the server has nothing else to do than to release what comes.
// Used by: the write benchmark, one thread.
// Before it: an attached client, and one of the classic parts. After it: rows, tables.
#pragma once

#include "report.hpp"
#include "write/classic_client.hpp"
#include "write/client.hpp"

namespace damaris::bench {

// Measures every size and way of the plan, in an order drawn anew for each round, prints the tables and adds the rows.
void measure_with_idle_server(WriteClient& client, ClassicClient& classic, const WritePlan& plan, Report& report);

}  // namespace damaris::bench
