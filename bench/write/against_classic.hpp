// dc_write against the classic parts, both beyond the memcpy that neither can do without; the servers idle.
// Used by: the write benchmark, one thread.
// Before it: an attached client, and one of the classic parts. After it: a row, a table.
#pragma once

#include "report.hpp"
#include "write/classic_client.hpp"
#include "write/client.hpp"

namespace damaris::bench {

// Measures every size of the plan in each of the three ways, in an order drawn anew for each round, prints the table and adds the row of
// 64 B: (classic - memcpy) / (dc_write - memcpy) of the medians of each round, the divisor at least 1 ns.
void measure_against_classic_parts(WriteClient& client, ClassicClient& classic, const WritePlan& plan, Report& report);

}  // namespace damaris::bench
