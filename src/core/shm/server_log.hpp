// Where a server logs, as sentences name it: a message sends its reader to a log only if the server has written one.
// Used by: clients in the errors of a lost server; the server in reports to its clients. Any thread, off the hot path.
// Before it: make_region.cpp, which puts the place into the region's model. After it: the sentences of errors.
#pragma once

#include <string>

#include "core/model/model.hpp"
#include "core/shm/region.hpp"

namespace damaris::shm {

// For a region that is being made: where this process logs, and how much is in that file.
model::ServerLog server_log_of_this_process();

// The log of a server that this process is about to start in the background.
model::ServerLog log_of_background_server(const model::Model& model);
// "see its log, PLACE", or that no log says why.
std::string see_log(const model::ServerLog& log);
// The log of the server of `region`. Reads the frame of its model.
model::ServerLog log_of(const Region& region);
// The log in which a server has written something; where it has not, why.
struct FoundLog {
  std::string place;  // "": none
  std::string why_none;
};
// Looks at the file: waits at most 1.1 s, for a line that the server's logging thread may still have to write, or
// a disk that hangs.
FoundLog find_log(const model::ServerLog& log);
// "its log, PLACE, says why", where `what` is "says why", or that no log does, with the remedy.
std::string log_says(const FoundLog& log, const std::string& what);
// The same of a server that goes on: without a look at the file, to which it may write later.
std::string log_will_say(const model::ServerLog& log, const std::string& what);
// The end of "... reports are": "only in the server's log, PLACE", or that they are lost. Reads the frame of the region's model.
std::string only_in_log(const Region& region);
// The same, in the server.
std::string only_in_own_log();

}  // namespace damaris::shm
