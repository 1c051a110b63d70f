// What a node group omits from a step because its buffer is full: one word per step in the header, so that all clients of the group omit
// the same.
// Nothing but the word itself is read because of it, so accesses are relaxed.
// Used by: client threads; the server, which receives omissions as messages of its clients; recovery (steps.hpp).
// Before it: a client whose wait for room has timed out. After it: every write of that step, which reads one word.
#pragma once

#include <algorithm>

#include "core/shm/layout.hpp"

namespace damaris::shm {

// The step, whether all of it is dropped, and the highest priority of the variables that are skipped.
class Omission {
 public:
  explicit Omission(std::uint64_t word = 0) noexcept : word_(word) {}
  static Omission skip(std::int64_t step, int priority) noexcept {
    return Omission(label(step) | (static_cast<std::uint64_t>(priority) + 1));
  }
  // Of a write that its client has given up: others leave out nothing.
  static Omission one_write(std::int64_t step) noexcept { return Omission(label(step)); }
  static Omission drop(std::int64_t step) noexcept { return Omission(label(step) | kDrop); }

  std::int64_t step() const noexcept { return static_cast<std::int64_t>(word_ >> kLabelShift) - 1; }
  bool is_of(std::int64_t step) const noexcept { return word_ >> kLabelShift == label(step) >> kLabelShift; }
  bool drops() const noexcept { return (word_ & kDrop) != 0; }
  bool skips(int priority) const noexcept { return static_cast<std::uint64_t>(priority) < (word_ & kPriority); }
  std::uint64_t word() const noexcept { return word_; }

  // The union of both, for the same step.
  Omission with(Omission other) const noexcept {
    const std::uint64_t priority = std::max(word_ & kPriority, other.word_ & kPriority);
    return Omission((word_ & ~kPriority) | (other.word_ & kDrop) | priority);
  }
  // True if `other` is of a later step. Steps that are kOmissions apart share a word.
  bool is_before(Omission other) const noexcept { return word_ >> kLabelShift < other.word_ >> kLabelShift; }

 private:
  static constexpr std::uint64_t kPriority = 0x7ff, kDrop = 0x800;
  static constexpr int kLabelShift = 12;
  static std::uint64_t label(std::int64_t step) noexcept { return (static_cast<std::uint64_t>(step) + 1) << kLabelShift; }
  std::uint64_t word_;
};

inline std::atomic<std::uint64_t>& omission_word(RegionHeader& header, std::int64_t step) noexcept {
  return header.omissions[static_cast<std::uint64_t>(step) % kOmissions];
}

inline Omission omission_of(RegionHeader& header, std::int64_t step) noexcept {
  const Omission found(omission_word(header, step).load(std::memory_order_relaxed));
  return found.is_of(step) ? found : Omission();
}

// Steps up to this one may have no word. First: a client may be killed in between.
inline void note_lost_word(RegionHeader& header, std::int64_t step) noexcept {
  std::int64_t last = header.omitted_until.load(std::memory_order_relaxed);
  while (last < step && !header.omitted_until.compare_exchange_weak(last, step, std::memory_order_relaxed)) {
  }
}

// Clients are rarely more than a few steps apart. A client that is kOmissions steps behind, or more, decides only for itself.
inline void omit(RegionHeader& header, std::int64_t step, Omission omission) noexcept {
  std::atomic<std::uint64_t>& word = omission_word(header, step);
  std::uint64_t before = word.load(std::memory_order_relaxed);
  while (true) {
    const Omission there(before);
    if (omission.is_before(there)) return note_lost_word(header, step);
    if (!there.is_of(step) && there.step() > header.last_processed.load(std::memory_order_relaxed))
      note_lost_word(header, there.step());
    const Omission next = there.is_of(step) ? there.with(omission) : omission;
    if (word.compare_exchange_weak(before, next.word(), std::memory_order_release, std::memory_order_relaxed)) return;
  }
}

}  // namespace damaris::shm
