// What a node group has decided to leave out of a step for want of room: one word per step in the header, so that all clients of the
// group leave out the same from then on.
// Used by: client threads; recovery. A living server learns what was left out from the messages of its clients (open_steps.hpp).
// Before it: a client that waited for room in vain. After it: every write of that step, by a look at one word.
#pragma once

#include <algorithm>

#include "core/shm/layout.hpp"

namespace damaris::shm {

// The step, whether all of it is dropped, and the highest priority of those variables that may be skipped and are.
class Decision {
 public:
  explicit Decision(std::uint64_t word = 0) noexcept : word_(word) {}
  static Decision skip(std::int64_t step, int priority) noexcept {
    return Decision(label(step) | (static_cast<std::uint64_t>(priority) + 1));
  }
  static Decision drop(std::int64_t step) noexcept { return Decision(label(step) | kDrop); }

  bool is_of(std::int64_t step) const noexcept { return word_ >> kLabelShift == label(step) >> kLabelShift; }
  bool drops() const noexcept { return (word_ & kDrop) != 0; }
  bool skips(int priority) const noexcept { return static_cast<std::uint64_t>(priority) < (word_ & kPriority); }
  std::uint64_t word() const noexcept { return word_; }

  // Both, for the same step.
  Decision with(Decision other) const noexcept {
    const std::uint64_t priority = std::max(word_ & kPriority, other.word_ & kPriority);
    return Decision((word_ & ~kPriority) | (other.word_ & kDrop) | priority);
  }
  // `other` is of a step that shares the word with this one, and comes after it.
  bool is_before(Decision other) const noexcept { return word_ >> kLabelShift < other.word_ >> kLabelShift; }

 private:
  static constexpr std::uint64_t kPriority = 0x7ff, kDrop = 0x800;
  static constexpr int kLabelShift = 12;
  static std::uint64_t label(std::int64_t step) noexcept { return (static_cast<std::uint64_t>(step) + 1) << kLabelShift; }
  std::uint64_t word_;
};

inline std::atomic<std::uint64_t>& decision_word(RegionHeader& header, std::int64_t step) noexcept {
  return header.decisions[static_cast<std::uint64_t>(step) % kDecisions];
}

inline Decision decided(RegionHeader& header, std::int64_t step) noexcept {
  const Decision found(decision_word(header, step).load(std::memory_order_acquire));
  return found.is_of(step) ? found : Decision();
}

// Clients are rarely more than a few steps apart. One that is further behind than there are words decides for itself alone.
inline void decide(RegionHeader& header, std::int64_t step, Decision decision) noexcept {
  std::atomic<std::uint64_t>& word = decision_word(header, step);
  std::uint64_t before = word.load(std::memory_order_acquire);
  while (!decision.is_before(Decision(before))) {
    const Decision next = Decision(before).is_of(step) ? Decision(before).with(decision) : decision;
    if (word.compare_exchange_weak(before, next.word(), std::memory_order_acq_rel)) return;
  }
}

}  // namespace damaris::shm
