// How often a write's time beyond memcpy fits into that of the classic parts.
// Used by: the write benchmark, one thread.
// Before it: samples of both, of the same rounds. After it: a row, a table.
#pragma once

#include "report.hpp"
#include "write/measured.hpp"

namespace damaris::bench {

// (classic - memcpy) / (dc_write - memcpy) of the medians of each round; the divisor is at least 1 ns.
Row classic_row(const SizeCase& size, SizeTimes& times);
// A line for each size that the classic parts were asked for. A size at which a write costs less than the memcpy has no quotient.
void print_classic_table(const WritePlan& plan, Measured& measured);

}  // namespace damaris::bench
