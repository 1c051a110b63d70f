// damaris-bench slots: servers that take turns on a storage with one bottleneck, against servers that do not.
// Used by: main.
#pragma once

#include <string>

#include "report.hpp"

namespace damaris::bench {

Report run_slots(bool quick, const std::string& folder);

}  // namespace damaris::bench
