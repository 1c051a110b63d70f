// The one line that a run prints by itself, at its end: what the server of client 0 has stored, and whether anyone waited.
// Used by: Session, in client 0's dc_finalize.
// Before it: the server's totals in the region's header. After it: standard error.
#pragma once

#include <string>

#include "core/model/model.hpp"
#include "core/shm/region.hpp"

namespace damaris::api {

// "storm: 3 steps, 6.0 GiB of data in 1.5 GiB of files; clients waited 0.0 s for room; the server was 93 % idle". `in_place`: there is
// no server that could be idle.
std::string summary_of(const shm::RegionHeader& header, const std::string& simulation, bool in_place);
// Unless <log summary="no">, or the log takes no warnings.
void print_summary(const shm::Region& region, const model::Frame& frame, bool in_place);

}  // namespace damaris::api
