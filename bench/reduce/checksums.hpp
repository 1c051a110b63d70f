// CRC-32 of the codecs against libdeflate's and zlib's, of the same bytes.
// Used by: the reduce benchmark, one thread.
// Before it: nothing. After it: rows and details.
#pragma once

#include "report.hpp"

namespace damaris::bench {

void measure_checksums(bool quick, Report& report);

}  // namespace damaris::bench
