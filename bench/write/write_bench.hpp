// damaris-bench write: what a dc_write costs beside the memcpy that no way around copies can save.
// Used by: main, one thread; servers and further clients as processes beside it.
#pragma once

#include <string>

#include "report.hpp"

namespace damaris::bench {

inline constexpr int kMostClients = 64;

// Output of the server goes below `folder` and is removed. Up to `clients` write at the same time; 0: as many as have a core of their
// own beside the server's. Throws Error.
Report run_write(bool quick, const std::string& folder, int clients);

}  // namespace damaris::bench
