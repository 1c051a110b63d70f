// damaris-bench persist: what the storage adds to the pwrite of the same bytes.
// Used by: main.
#pragma once

#include <string>

#include "report.hpp"

namespace damaris::bench {

Report run_persist(bool quick, const std::string& folder);

}  // namespace damaris::bench
