// What messages say of a server: what it is doing, and where it logs. Nobody looks at the log, which may be on a disk that hangs.
// Used by: the server's work thread, which shows what it does, and its reports; its intake thread, and clients. Off the hot path.
// Before it: a plugin's callback; make_region.cpp, which puts the place of the log into the region's model. After it: the sentences of
// time-outs and of a lost server, or a line in the log.
#pragma once

#include <string>

#include "core/model/model.hpp"
#include "core/shm/layout.hpp"
#include "core/shm/region.hpp"

namespace damaris::shm {

// `what`: the plugin's call that runs or is awaited; "" for none.
void show_busy(RegionHeader& header, const std::string& what) noexcept;

struct Busy {
  std::int64_t since_ns = 0;  // steady clock; 0: not busy
  std::string what;
  double seconds = 0;  // so far
};
// The text may be torn.
Busy busy_with(const RegionHeader& header);

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
