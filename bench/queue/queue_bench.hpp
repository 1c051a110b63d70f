// damaris-bench queue: an event through a lane against a message through Boost's queue.
// Used by: main.
#pragma once

#include "report.hpp"

namespace damaris::bench {

// Throws Error.
Report run_queue(bool quick);

}  // namespace damaris::bench
