// What the server is doing, for the messages of processes that wait for it.
// Used by: the server's work thread, which sets it; clients and the watchdog, which may read a torn text.
// Before it: a plugin's callback. After it: the message of a time-out, or a line in the log.
#pragma once

#include <string>

#include "core/shm/layout.hpp"

namespace damaris::shm {

// `what`: the plugin's call that runs or is awaited; "" for none.
void show_busy(RegionHeader& header, const std::string& what) noexcept;

struct Busy {
  std::int64_t since_ns = 0;  // steady clock; 0: not busy
  std::string what;
  double seconds = 0;  // so far
};
Busy busy_with(const RegionHeader& header);

}  // namespace damaris::shm
