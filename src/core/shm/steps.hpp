// What became of step k: how far a server's steps are and which one it is releasing; which ones it has given up, so that a flush takes none
// of them for durable; the times of open steps, and which steps lack writes, both for recovery.
// Used by: the server's intake thread, the only writer but of omissions; clients; what looks at the region of a dead server.
// Before it: the answer of the storage, and the reports about it in the mailboxes. After it: dc_flush, dc_status, recovery.
//
// What is read of a dead server needs no order, because the kernel has said that it is dead. It may have been killed between any two
// stores, of which those with release keep the compiler from moving an earlier one behind them.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "core/base/format.hpp"
#include "core/shm/layout.hpp"

namespace damaris::shm {

// What a node group omits from a step because its buffer is full: one word per step in the header, so that all clients of the group omit
// the same. Nothing but the word itself is read because of it, so accesses are relaxed; every write of the step reads it.

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

// Steps up to this one may lack a word. Call it first: a client may be killed in between.
inline void widen_omitted(RegionHeader& header, std::int64_t step) noexcept {
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
    if (omission.is_before(there)) return widen_omitted(header, step);
    if (!there.is_of(step) && there.step() > header.last_processed.load(std::memory_order_relaxed))
      widen_omitted(header, there.step());
    const Omission next = there.is_of(step) ? there.with(omission) : omission;
    if (word.compare_exchange_weak(before, next.word(), std::memory_order_release, std::memory_order_relaxed)) return;
  }
}

inline void clear_steps(RegionHeader& header) noexcept {
  for (auto* step : {&header.last_complete, &header.last_processed, &header.last_durable, &header.releasing, &header.omitted_until,
                     &header.forgotten_first, &header.forgotten_last})
    step->store(kNoStep, std::memory_order_relaxed);
  for (StepTime& entry : header.times) entry.step.store(kNoStep, std::memory_order_relaxed);
  for (auto& step : header.given_up) step.store(kNoStep, std::memory_order_relaxed);
}

// Of status only: nothing else is read because of it.
inline void publish_complete(RegionHeader& header, std::int64_t step) noexcept {
  if (step > header.last_complete.load(std::memory_order_relaxed)) header.last_complete.store(step, std::memory_order_relaxed);
}
// A client that sees these finds the reports about these steps in its mailbox.
inline void publish_durable(RegionHeader& header, std::int64_t step) noexcept {
  header.last_durable.store(step, std::memory_order_release);
}
inline void publish_processed(RegionHeader& header, std::int64_t step) noexcept {
  header.last_processed.store(step, std::memory_order_release);
}
inline std::int64_t last_durable(const RegionHeader& header) noexcept {
  return header.last_durable.load(std::memory_order_acquire);
}
inline std::int64_t last_processed(const RegionHeader& header) noexcept {
  return header.last_processed.load(std::memory_order_acquire);
}

// Between these two a recovery knows that the step is stored, although not all of its blocks may be there any more. The second one comes
// after publish_processed, so that there is no moment at which the step counts as neither.
inline void begin_release(RegionHeader& header, std::int64_t step) noexcept {
  header.releasing.store(step, std::memory_order_relaxed);  // each release of a block is a release of this, too
}
inline void end_release(RegionHeader& header) noexcept { header.releasing.store(kNoStep, std::memory_order_release); }

// The steps that a server had stored when it died, in order; and one that it was releasing, which may come after steps that a recovery could
// not store.
struct FinishedSteps {
  bool contains(std::int64_t step) const noexcept { return step <= last_processed || step == releasing; }

  std::int64_t last_processed = kNoStep, releasing = kNoStep;
};
inline FinishedSteps finished_steps(const RegionHeader& header) noexcept {
  return {header.last_processed.load(std::memory_order_relaxed), header.releasing.load(std::memory_order_relaxed)};
}

// Call it before the message that brought the time leaves its lane. Returns another open step, whose time is lost as more are open than
// there are entries; else kNoStep.
inline std::int64_t record_time(RegionHeader& header, std::int64_t step, double time) noexcept {
  const auto step_of = [](const StepTime& entry) { return entry.step.load(std::memory_order_relaxed); };
  StepTime* entry = std::find_if(std::begin(header.times), std::end(header.times), [&](auto& one) { return step_of(one) == step; });
  if (entry == std::end(header.times))  // the lowest step is finished, or the oldest
    entry = std::min_element(std::begin(header.times), std::end(header.times),
                             [&](auto& one, auto& other) { return step_of(one) < step_of(other); });
  const std::int64_t before = step_of(*entry);
  if (before != step) entry->step.store(kNoStep, std::memory_order_relaxed);
  entry->time.store(time, std::memory_order_release);
  entry->step.store(step, std::memory_order_release);
  return before != step && before > header.last_processed.load(std::memory_order_relaxed) ? before : kNoStep;
}

struct KnownTime {
  std::int64_t step;
  double time;
};
// Of the steps that were not finished; no value is trusted.
inline std::vector<KnownTime> known_times(const RegionHeader& header) {
  const FinishedSteps finished = finished_steps(header);
  std::vector<KnownTime> known;
  for (const StepTime& entry : header.times)
    if (const std::int64_t step = entry.step.load(std::memory_order_relaxed); !finished.contains(step) && step <= kHighestStep)
      known.push_back({step, entry.time.load(std::memory_order_relaxed)});
  return known;
}

// `count`: of earlier calls. The steps that fall out of the ring become one range, in which steps that were stored count as given up.
inline void give_up(RegionHeader& header, std::int64_t step, std::uint64_t& count) noexcept {
  std::atomic<std::int64_t>& entry = header.given_up[count++ % kGivenUp];
  if (const std::int64_t before = entry.load(std::memory_order_relaxed); before != kNoStep) {
    header.forgotten_last.store(before, std::memory_order_relaxed);
    if (header.forgotten_first.load(std::memory_order_relaxed) == kNoStep)
      header.forgotten_first.store(before, std::memory_order_release);
  }
  entry.store(step, std::memory_order_release);
}

// Looks at the entries first, so that a step that falls out of the ring meanwhile is in the range.
inline bool is_given_up(const RegionHeader& header, std::int64_t step) noexcept {
  for (const auto& entry : header.given_up)
    if (entry.load(std::memory_order_acquire) == step) return true;
  const std::int64_t first = header.forgotten_first.load(std::memory_order_acquire);
  return first != kNoStep && first <= step && step <= header.forgotten_last.load(std::memory_order_acquire);
}

struct StepRange {
  std::int64_t first = 0, last = 0;
};

// Up to this step, those that were not finished may lack writes that no word tells of; kNoStep if there is no such step.
inline std::int64_t omitted_until(const RegionHeader& header) noexcept {
  const std::int64_t last = std::min(header.omitted_until.load(std::memory_order_relaxed), kHighestStep);
  return last > header.last_processed.load(std::memory_order_relaxed) ? last : kNoStep;
}

// The steps that were not finished and have an omission: at least the client that decided it omitted a write.
inline std::vector<std::int64_t> omitted_steps(const RegionHeader& header) {
  const FinishedSteps finished = finished_steps(header);
  std::vector<std::int64_t> steps;
  for (const auto& word : header.omissions)
    if (const std::int64_t step = Omission(word.load(std::memory_order_relaxed)).step();
        !finished.contains(step) && step <= kHighestStep)
      steps.push_back(step);
  return steps;
}

// From the first to the last step of which the region of a dead server alone knows that data are missing, until a recovery has recorded that.
inline std::optional<StepRange> lost_steps(const RegionHeader& header) {
  std::vector<std::int64_t> steps = omitted_steps(header);
  if (omitted_until(header) != kNoStep) steps.push_back(omitted_until(header));
  if (steps.empty()) return std::nullopt;
  const auto [first, last] = std::minmax_element(steps.begin(), steps.end());
  return StepRange{*first, *last};
}
inline std::string loss_text(const StepRange& steps) {
  const bool one = steps.first == steps.last;
  return format("data of {} were left out",
                one ? format("step {}", steps.first) : format("steps {} to {}", steps.first, steps.last));
}

}  // namespace damaris::shm
