// damaris-bench write: what a dc_write costs beside the memcpy that no way around copies can save.
// Used by: main, one thread; a server process beside it.
#pragma once

#include <string>

#include "report.hpp"

namespace damaris::bench {

// Output of the server goes below `folder` and is removed. Throws Error.
Report run_write(bool quick, const std::string& folder);

}  // namespace damaris::bench
