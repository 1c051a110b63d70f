#include "server/watchdog.hpp"

#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/shm/busy.hpp"

namespace damaris::server {

Watchdog::Watchdog(const shm::RegionHeader& header, Clock::duration limit)
    : header_(header), limit_(limit), thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  end_.notify_all();
  thread_.join();
}

void Watchdog::watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!end_.wait_for(lock, limit_ / 2, [this] { return ended_; })) look();
}

void Watchdog::look() {
  const shm::Busy busy = shm::busy_with(header_);
  if (busy.since_ns == 0 || busy.since_ns == told_ || busy.seconds < std::chrono::duration<double>(limit_).count()) return;
  told_ = busy.since_ns;
  log_line(LogLevel::warning,
           format("the server has been in {} for {:.1f} s and takes no events meanwhile", busy.what, busy.seconds));
}

}  // namespace damaris::server
