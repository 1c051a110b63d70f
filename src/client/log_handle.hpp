// A log as a client appends to it: the handle of dc_log.
// Used by: client threads; one object a log, from the attach to the end of the session.
// Before it: the <stream-log> elements, in the frame. After it: the ends of the log's files in the region.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/model.hpp"
#include "core/shm/layout.hpp"

// What dc_log hands out.
struct dc_log_s {
  // Where the stream of one thread goes: a file of the log.
  struct Place {
    damaris::shm::LogEnd* end;
    std::int64_t file;  // counted over the servers of the run
  };

  std::uint32_t id = 0;
  const damaris::model::StreamLog* log = nullptr;
  std::vector<Place> places;  // by thread
};

namespace damaris::client {

using LogHandle = dc_log_s;

}  // namespace damaris::client
