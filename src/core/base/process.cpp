#include "core/base/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/own_file.hpp"

namespace damaris {
namespace {

struct Stat {
  char state = 0;
  int threads = 0;
  std::uint64_t start_time = 0;
  // It is a zombie, too, when its first thread has left and others go on.
  bool is_dead() const noexcept { return (state == 'Z' || state == 'X') && threads < 2; }
};

// True if a process, possibly a zombie, has that pid.
bool has_number(std::int32_t pid) noexcept { return ::kill(pid, 0) == 0 || errno != ESRCH; }

enum class Lookup { found, none, unreadable };

// Reads fields 3, 20 and 22 of /proc/<pid>/stat. The command in field 2 may contain blanks and parentheses, so parsing starts at the last ')'.
// None: no process has that pid. Unreadable: no descriptor or memory left, no /proc, or /proc hides the process (hidepid).
Lookup read_stat(std::int32_t pid, Stat& stat) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == ENOENT && !has_number(pid) ? Lookup::none : Lookup::unreadable;
  char text[1024];
  const ssize_t length = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (length <= 0) return length < 0 && errno != ESRCH ? Lookup::unreadable : Lookup::none;
  text[length] = '\0';
  const char* rest = std::strrchr(text, ')');
  unsigned long long start = 0;
  if (rest == nullptr || std::sscanf(rest + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d %*s %llu",
                                     &stat.state, &stat.threads, &start) != 3)
    return Lookup::unreadable;
  stat.start_time = start;
  return Lookup::found;
}

constexpr std::uint64_t kUnknownSpace = 1;  // no namespace has this number

// Combines the PID namespace and the time namespace. The PID namespace counts only if /proc belongs to it; otherwise /proc would describe
// other processes. Before Linux 5.6 there is only one clock.
std::uint64_t own_space() noexcept {
  char text[64] = {};
  if (::readlink("/proc/self", text, sizeof text - 1) <= 0 || std::atoi(text) != ::getpid()) return kUnknownSpace;
  struct stat numbers = {}, clock = {};
  if (::stat("/proc/self/ns/pid", &numbers) != 0) return kUnknownSpace;
  if (::stat("/proc/self/ns/time", &clock) != 0) clock.st_ino = 0;
  return numbers.st_ino ^ clock.st_ino << 32;  // each has 32 bits
}

int pidfd_open(std::int32_t pid) noexcept { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

// The program may have closed our descriptor, and its number may have been reused.
bool is_pidfd(int descriptor) noexcept {
  return ::syscall(SYS_pidfd_send_signal, descriptor, 0, nullptr, 0) == 0 || errno != EBADF;
}

}  // namespace

ProcessId this_process() {
  ProcessId process;
  process.pid = static_cast<std::int32_t>(::getpid());
  process.space = own_space();
  Stat stat;
  if (process.space != kUnknownSpace && read_stat(process.pid, stat) == Lookup::found) process.start_time = stat.start_time;
  return process;
}

bool is_visible(const ProcessId& process) noexcept {
  return process.space == 0 || (process.space != kUnknownSpace && process.space == own_space());
}

std::uint64_t start_time_of(std::int32_t pid) noexcept {
  Stat stat;
  return read_stat(pid, stat) == Lookup::found ? stat.start_time : 0;
}

bool is_alive(const ProcessId& process) noexcept {
  if (process.pid <= 0) return false;
  Stat stat;
  const Lookup look = read_stat(process.pid, stat);
  if (look == Lookup::unreadable) return has_number(process.pid);  // a living process must not be taken for dead
  if (look == Lookup::none) return false;
  if (stat.is_dead()) return false;
  return process.start_time == 0 || stat.start_time == process.start_time;
}

ProcessWatch::ProcessWatch(const ProcessId& process) : process_(process) {
  if (process.pid == ::getpid()) return;
  // The descriptor first, then the check: so a process that is alive now is the one that the descriptor refers to.
  descriptor_ = moved_up(pidfd_open(process.pid));
  dead_at_start_ = !is_alive(process);
}

ProcessWatch::ProcessWatch(ProcessWatch&& other) noexcept
    : process_(other.process_), descriptor_(std::exchange(other.descriptor_, -1)), dead_at_start_(other.dead_at_start_) {}

ProcessWatch& ProcessWatch::operator=(ProcessWatch&& other) noexcept {
  std::swap(process_, other.process_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(dead_at_start_, other.dead_at_start_);
  return *this;
}

ProcessWatch::~ProcessWatch() {
  if (descriptor_ >= 0 && is_pidfd(descriptor_)) ::close(descriptor_);
}

bool ProcessWatch::alive() const noexcept {
  if (process_.pid == ::getpid()) return true;
  if (dead_at_start_ || process_.pid <= 0) return false;
  if (descriptor_ < 0 || !is_pidfd(descriptor_))
    return is_alive(process_);  // no pidfd support, or the descriptor is no longer ours
  struct pollfd look = {descriptor_, POLLIN, 0};
  return ::poll(&look, 1, 0) <= 0;  // readable: the process has ended
}

}  // namespace damaris
