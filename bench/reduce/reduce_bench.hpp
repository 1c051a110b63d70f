// damaris-bench reduce: encoding before HDF5 against HDF5's own filters, by processor time.
// Used by: main.
#pragma once

#include <string>

#include "report.hpp"

namespace damaris::bench {

// `fields`: an HDF5 file of the form read_fields() takes; "": the slice beside the program. Throws Error.
Report run_reduce(bool quick, const std::string& folder, const std::string& fields);

}  // namespace damaris::bench
