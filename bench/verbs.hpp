// What damaris-bench measures, a function a verb. Each prints its tables, and throws Error.
// Used by: main, one thread; servers and further clients as processes beside it.
// Before it: options. After it: a report. What is written goes below `folder`, and is removed.
#pragma once

#include <string>

#include "report.hpp"

namespace damaris::bench {

inline constexpr int kMostClients = 64;

// What a dc_write costs beside the memcpy that no way around copies can save. Up to `clients` write at the same time; 0: as many as have
// a core of their own beside the server's.
Report run_write(bool quick, const std::string& folder, int clients);
// What an append to a log costs, beside a memcpy and beside a file for each process; and when the buffer is full.
Report run_log(bool quick, const std::string& folder);
// An event through a lane against a message through Boost's queue.
Report run_queue(bool quick);
// What the storage adds to the pwrite of the same bytes.
Report run_persist(bool quick, const std::string& folder);
// Encoding before HDF5 against HDF5's own filters and libdeflate, by processor time. `fields`: an HDF5 file of the form read_fields()
// takes; "": the slice beside the program.
Report run_reduce(bool quick, const std::string& folder, const std::string& fields);
// Servers that take turns on a storage with one bottleneck, against servers that do not.
Report run_slots(bool quick, const std::string& folder);
// What a client notices of a storage that hangs or is slow, and of a plugin that sleeps.
Report run_never_stops(bool quick, const std::string& folder);

}  // namespace damaris::bench
