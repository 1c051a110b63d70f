// Where a client is in its sequence of steps: between two steps, in an open one, or in one that has a write.
// Used by: every call of a client; threads read it on the fast path, and change it under Client::lock_step().
// Before it: the step that a call names. After it: the parameters that take effect, and the messages that end steps.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

#include "core/shm/layout.hpp"

namespace damaris::client {

class StepState {
 public:
  // between -> open (a call names a step) -> writing (its first write) -> between (the step ends)
  enum class Phase : std::uint8_t { between, open, writing };

  bool is_open(std::int64_t step) const noexcept { return step == open_.load(std::memory_order_acquire) && step >= 0; }
  // The open step has a write: changed parameters take effect in the next one.
  bool is_writing() const noexcept { return phase_.load(std::memory_order_acquire) == Phase::writing; }
  // kNoStep between two steps.
  std::int64_t open() const noexcept { return open_.load(std::memory_order_relaxed); }
  std::int64_t last_ended() const noexcept { return ended_; }
  // The lowest step that a call may still name.
  std::int64_t lowest_allowed() const noexcept { return std::max(ended_ + 1, open()); }
  // The highest step that a call has named.
  std::int64_t highest_named() const noexcept { return std::max(ended_, open()); }
  // The open step if it has a write.
  std::optional<std::int64_t> unfinished() const noexcept {
    return is_writing() ? std::optional(open_.load(std::memory_order_relaxed)) : std::nullopt;
  }

  void begin(std::int64_t step) noexcept {
    phase_.store(Phase::open, std::memory_order_relaxed);
    open_.store(step, std::memory_order_release);
  }
  void begin_writing() noexcept { phase_.store(Phase::writing, std::memory_order_release); }
  void end_below(std::int64_t step) noexcept {
    ended_ = std::max(ended_, step - 1);
    open_.store(shm::kNoStep, std::memory_order_relaxed);
    phase_.store(Phase::between, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::int64_t> open_{shm::kNoStep};
  std::int64_t ended_ = shm::kNoStep;  // highest step this client has ended
  std::atomic<Phase> phase_{Phase::between};
};

}  // namespace damaris::client
