// Logs a plugin callback that blocks the server, while it still runs, because a call cannot be interrupted (rule 4 of docs/rules.md).
// Used by: a server with a process of its own, on a separate read-only thread.
// Before it: the plugin host publishes the current callback. After it: the log.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/base/clock.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/process.hpp"
#include "core/shm/layout.hpp"
#include "core/shm/server_facts.hpp"

namespace damaris::server {

class Watchdog {
 public:
  // `header` must outlive this object. Logs each callback that takes longer than `limit` once. Throws
  // std::system_error if the process may have no more threads.
  Watchdog(const shm::RegionHeader& header, Clock::duration limit) : checker_(new Checker(header, limit)) {}
  ~Watchdog() {
    if (creator_.is_this_process()) delete checker_;
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  class Checker {
   public:
    Checker(const shm::RegionHeader& header, Clock::duration limit)
        : header_(header), limit_(limit), thread_([this] { watch(); }) {}

    ~Checker() {
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        ended_ = true;
      }
      end_.notify_all();
      thread_.join();
    }

   private:
    void watch() {
      std::unique_lock<std::mutex> lock(mutex_);
      while (!end_.wait_for(lock, limit_ / 8, [this] { return ended_; })) check();
    }

    void check() noexcept try {
      const shm::Busy busy = shm::busy_with(header_);
      if (busy.since_ns == 0 || busy.since_ns == last_reported_ || busy.seconds < std::chrono::duration<double>(limit_).count())
        return;
      last_reported_ = busy.since_ns;
      log_line(LogLevel::warning, format("the server has been in {} for {:.1f} s; meanwhile it stores no step and runs no action",
                                         busy.what, busy.seconds));
    } catch (...) {  // no memory for the line
    }

    const shm::RegionHeader& header_;
    Clock::duration limit_;
    std::int64_t last_reported_ = 0;  // start of the last callback that was logged
    std::mutex mutex_;
    std::condition_variable end_;
    bool ended_ = false;
    std::thread thread_;
  };

  CreatorProcess creator_;
  Checker* checker_;  // leaked in a fork, where joining the thread would block forever
};

}  // namespace damaris::server
