// Tells the log of a plugin that holds the server up, while it does: it cannot be interrupted (DESIGN 4b rule 4).
// Used by: a server with a process of its own; a thread that only looks.
// Before it: the plugin host says what it calls. After it: the log.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/base/clock.hpp"
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
  void watch();
  void look();

  const shm::RegionHeader& header_;
  Clock::duration limit_;
  std::int64_t told_ = 0;  // start of the callback that the last line was about
  std::mutex mutex_;
  std::condition_variable end_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace damaris::server
