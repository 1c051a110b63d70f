#include "core/base/fork_closed.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace damaris {
namespace {

// Descriptors, each plus 1; 0 is free. Atomic, because another thread may fork at any moment.
std::array<std::atomic<int>, 256> entries;

// In the child, which has one thread.
void close_copies() noexcept {
  for (auto& entry : entries)
    if (const int taken = entry.exchange(0); taken > 0) ::close(taken - 1);
}

}  // namespace

void close_in_forks(int descriptor) noexcept {
  static const int registered = ::pthread_atfork(nullptr, nullptr, close_copies);
  if (registered != 0) return;
  for (auto& entry : entries)
    if (int free = 0; entry.compare_exchange_strong(free, descriptor + 1)) return;
}

void keep_in_forks(int descriptor) noexcept {
  for (auto& entry : entries)
    if (int mine = descriptor + 1; descriptor >= 0 && entry.compare_exchange_strong(mine, 0)) return;
}

}  // namespace damaris
