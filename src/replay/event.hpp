// What threads of a replay wait for: another thread's event, or a moment. Both waits end early when the replay is stopped.
// Used by: the threads of player.cpp, also of several processes that share the memory.
// Before it: an operation of the plan. After it: the next one.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace damaris::replay {

inline std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

using Word = std::atomic<std::uint32_t>;  // of a futex

inline void wake_all(Word& word) { ::syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0); }

// One for each thread. The thread that stops the replay sets `stopped`, and then calls wake() until the others have ended.
class Waiter {
 public:
  explicit Waiter(const std::atomic<bool>& stopped) : stopped_(stopped) {}

  // Returns when somebody wakes the word, it is not `value`, or `until` (of CLOCK_MONOTONIC) has passed; false if the replay is stopped.
  bool wait(Word& word, std::uint32_t value, const timespec* until = nullptr) {
    at_.store(&word);
    if (!stopped_.load()) ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, value, until, nullptr, FUTEX_BITSET_MATCH_ANY);
    at_.store(nullptr);
    return !stopped_.load();
  }

  // Until the clock shows `moment`; the last `spin_ns` without sleeping.
  bool sleep_until(std::uint64_t moment, std::uint64_t spin_ns) {
    const std::uint64_t wake = moment - spin_ns;
    const timespec until{static_cast<time_t>(wake / 1'000'000'000), static_cast<long>(wake % 1'000'000'000)};
    while (now_ns() < wake)
      if (!wait(none_, 0, &until)) return false;
    while (now_ns() < moment) continue;
    return !stopped_.load();
  }

  // By another thread. One that is about to wait may miss it.
  void wake() {
    if (Word* const word = at_.load()) wake_all(*word);
  }

 private:
  const std::atomic<bool>& stopped_;
  std::atomic<Word*> at_{nullptr};
  Word none_{0};
};

// Happens once, at a virtual time, which those that wait for it get.
class Event {
 public:
  void set(std::uint64_t time) {
    time_ = time;
    if (state_.exchange(kSet) == kWaited) wake_all(state_);
  }

  // Returns false if the replay is stopped.
  bool wait(Waiter& waiter, std::uint64_t& time) {
    for (std::uint32_t state = state_.load(); state != kSet; state = state_.load()) {
      if (state == kUnset && !state_.compare_exchange_strong(state, kWaited)) continue;
      if (!waiter.wait(state_, kWaited)) return false;
    }
    time = time_;
    return true;
  }

 private:
  static constexpr std::uint32_t kUnset = 0, kWaited = 1, kSet = 2;
  Word state_{kUnset};
  std::uint64_t time_ = 0;  // written before kSet
};

}  // namespace damaris::replay
