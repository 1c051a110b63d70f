#include "server/watchdog.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/shm/busy.hpp"

namespace damaris::server {

class Watchdog::Checker {
 public:
  Checker(const shm::RegionHeader& header, Clock::duration limit) : header_(header), limit_(limit), thread_([this] { watch(); }) {}

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

Watchdog::Watchdog(const shm::RegionHeader& header, Clock::duration limit) : checker_(new Checker(header, limit)) {}

Watchdog::~Watchdog() {
  if (creator_.is_this_process()) delete checker_;
}

}  // namespace damaris::server
