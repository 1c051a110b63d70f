#include "core/base/fork_closed.hpp"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace damaris {
namespace {

// Atomic, because another thread may fork at any moment.
struct Entry {
  std::atomic<int> descriptor{-1};
  std::atomic<dev_t> device{0};
  std::atomic<ino_t> inode{0};
};
std::array<Entry, 256> entries;

// In the child, which has one thread.
void close_copies() noexcept {
  for (const Entry& entry : entries) {
    const int descriptor = entry.descriptor.load();
    struct stat now = {};
    if (descriptor < 0) continue;
    const bool is_known = ::fstat(descriptor, &now) == 0;  // a file system that fails says nothing of whose it is
    if (is_known ? now.st_dev == entry.device && now.st_ino == entry.inode : errno != EBADF) ::close(descriptor);
  }
}

}  // namespace

void close_in_forks(int descriptor) noexcept {
  static const int registered = ::pthread_atfork(nullptr, nullptr, close_copies);
  struct stat facts = {};
  if (registered != 0 || ::fstat(descriptor, &facts) != 0) return;
  for (Entry& entry : entries) {
    constexpr int kTaken = -2;  // and not filled yet
    int free = -1;
    if (!entry.descriptor.compare_exchange_strong(free, kTaken)) continue;
    entry.device = facts.st_dev;
    entry.inode = facts.st_ino;
    entry.descriptor = descriptor;
    return;
  }
}

void keep_in_forks(int descriptor) noexcept {
  for (Entry& entry : entries) {
    int mine = descriptor;
    if (descriptor >= 0 && entry.descriptor.compare_exchange_strong(mine, -1)) return;
  }
}

}  // namespace damaris
