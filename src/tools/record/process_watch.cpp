#include "tools/record/process_watch.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "core/base/process.hpp"

namespace damaris::record {

// A process is a zombie, too, when its first thread has left and others go on.
bool is_alive(std::int32_t pid, std::uint64_t start_time) noexcept {
  if (pid <= 0) return false;
  const auto stat = stat_of(pid);
  if (!stat) return ::kill(pid, 0) == 0 || errno != ESRCH;
  const bool has_ended = (stat->state == 'Z' || stat->state == 'X') && stat->threads < 2;
  return !has_ended && (start_time == 0 || stat->start_time == start_time);
}

ProcessWatch::ProcessWatch(std::int32_t pid, std::uint64_t start_time) : pid_(pid), start_time_(start_time) {
  if (pid == ::getpid()) return;
  // The descriptor first, then the check: so a process that is alive now is the one that the descriptor refers to.
  descriptor_ = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  dead_at_start_ = !is_alive(pid, start_time);
}

ProcessWatch& ProcessWatch::operator=(ProcessWatch&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(start_time_, other.start_time_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(dead_at_start_, other.dead_at_start_);
  return *this;
}

ProcessWatch::~ProcessWatch() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool ProcessWatch::alive() const noexcept {
  if (pid_ == ::getpid()) return true;
  if (dead_at_start_ || pid_ <= 0) return false;
  if (descriptor_ < 0) return is_alive(pid_, start_time_);  // no pidfd support, or no descriptor left
  struct pollfd look = {descriptor_, POLLIN, 0};
  return ::poll(&look, 1, 0) <= 0;  // readable: the process has ended
}

}  // namespace damaris::record
