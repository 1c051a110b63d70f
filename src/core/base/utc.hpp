// The time of day as text, for files and the manifest.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: the system's clock. After it: labels.hpp, writer.hpp.
#pragma once

#include <string>

namespace damaris {

// UTC: "2025-03-01T12:00:00Z".
std::string utc_now();
// The same to the millisecond: "2025-03-01T12:00:00.123Z".
std::string utc_now_ms();

}  // namespace damaris
