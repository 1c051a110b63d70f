#include "core/base/fork_closed.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>

#include "core/base/own_file.hpp"

namespace damaris {
namespace {

// Descriptors, each plus 1; 0 is free. Atomic, because another thread may fork at any moment.
std::array<std::atomic<int>, 256> entries;

// No fork comes between the opening of a file and its entry.
std::mutex opening;

void before_fork() noexcept { opening.lock(); }
void after_fork() noexcept { opening.unlock(); }
// In the child, which has one thread.
void close_copies() noexcept {
  for (auto& entry : entries)
    if (const int taken = entry.exchange(0); taken > 0) ::close(taken - 1);
  opening.unlock();
}

bool registered() noexcept {
  static const bool done = ::pthread_atfork(before_fork, after_fork, close_copies) == 0;
  return done;
}

}  // namespace

int open_closed_in_forks(const std::string& path, int flags) noexcept {
  if (!registered()) return open_own(path, flags);
  const std::lock_guard<std::mutex> no_fork(opening);
  const int descriptor = open_own(path, flags);
  if (descriptor >= 0) close_in_forks(descriptor);
  return descriptor;
}

void close_in_forks(int descriptor) noexcept {
  if (!registered()) return;
  for (auto& entry : entries)
    if (int free = 0; entry.compare_exchange_strong(free, descriptor + 1)) return;
}

void keep_in_forks(int descriptor) noexcept {
  for (auto& entry : entries)
    if (int mine = descriptor + 1; descriptor >= 0 && entry.compare_exchange_strong(mine, 0)) return;
}

}  // namespace damaris
