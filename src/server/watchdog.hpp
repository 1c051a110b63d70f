// Logs a plugin callback that blocks the server, while it still runs, because a call cannot be interrupted (rule 4 of docs/rules.md).
// Used by: a server with a process of its own, on a separate read-only thread.
// Before it: the plugin host publishes the current callback. After it: the log.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/creator_process.hpp"
#include "core/shm/layout.hpp"

namespace damaris::server {

class Watchdog {
 public:
  // `header` must outlive this object. Logs each callback that takes longer than `limit` once. Throws
  // std::system_error if the process may have no more threads.
  Watchdog(const shm::RegionHeader& header, Clock::duration limit);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  class Checker;
  CreatorProcess creator_;
  Checker* checker_;  // leaked in a fork, where joining the thread would block forever
};

}  // namespace damaris::server
