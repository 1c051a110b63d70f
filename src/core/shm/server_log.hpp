// Where a server logs, as sentences name it. Nobody looks at the file, which may be on a disk that hangs.
// Used by: clients in the errors of a lost server; the server in reports to its clients. Any thread, off the hot path.
// Before it: make_region.cpp, which puts the place into the region's model. After it: the sentences of errors.
#pragma once

#include <string>

#include "core/model/model.hpp"
#include "core/shm/region.hpp"

namespace damaris::shm {

// A place is that of log_place(): a path, "standard error", or "" for none.
// That of the server of `region`. Reads the frame of its model.
std::string log_of(const Region& region);
// That of a server which this process is about to start in the background.
std::string log_of_background_server(const model::Model& model);

// "see its log, PLACE", or that no log says why.
std::string see_log(const std::string& place);
// "its log, PLACE, says why", where `what` is "says why", or that no log does, with the remedy.
std::string log_says(const std::string& place, const std::string& what);
// The end of "... reports are": "only in the server's log, PLACE", or that they are lost.
std::string only_in_log(const std::string& place);

}  // namespace damaris::shm
