// Logs that a plugin holds the server up, while it does, as a call cannot be interrupted (rule 4 of docs/rules.md).
// Used by: a server with a process of its own, on a thread that only looks.
// Before it: the plugin host says what it calls. After it: the log.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/creator_process.hpp"
#include "core/shm/layout.hpp"

namespace damaris::server {

class Watchdog {
 public:
  // `header` must outlive it. One line for each callback that takes longer than `limit`.
  Watchdog(const shm::RegionHeader& header, Clock::duration limit);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  class Checker;
  CreatorProcess creator_;
  Checker* checker_ = nullptr;  // where there are threads; a fork has no such thread: it would wait for ever for the end of one
};

}  // namespace damaris::server
