#include "core/shm/doorbell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace damaris::shm {
namespace {

// Not FUTEX_PRIVATE_FLAG: the word is in memory shared between processes.
long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* timeout) noexcept {
  return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout, nullptr, 0);
}

}  // namespace

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t timeout_ms) noexcept {
  if (timeout_ms <= 0) return;
  const timespec timeout = {static_cast<time_t>(timeout_ms / 1000), static_cast<long>(timeout_ms % 1000) * 1'000'000};
  futex(word, FUTEX_WAIT, seen, &timeout);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept { futex(word, FUTEX_WAKE, INT_MAX, nullptr); }

}  // namespace damaris::shm
