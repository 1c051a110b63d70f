// The steps that a server has given up although clients had written them, so that a flush never takes one of them for durable, and so that
// a recovery records those of which the dead server could not write the line.
// Used by: the server's intake thread, the only writer; the client's thread in a flush; recovery.
// Before it: a step that the storage could not store. After it: the code of dc_flush, or the manifest.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "core/shm/frontier.hpp"
#include "core/shm/layout.hpp"

namespace damaris::shm {

inline void clear_given_up(RegionHeader& header) noexcept {
  for (StepRun& run : header.given_up) {
    run.first.store(kNoStep, std::memory_order_relaxed);
    run.last.store(kNoStep, std::memory_order_relaxed);
    run.stride.store(1, std::memory_order_relaxed);
  }
  header.given_up_first.store(kNoStep, std::memory_order_relaxed);
  header.given_up_last.store(kNoStep, std::memory_order_relaxed);
}

// Returns false if the steps of the run are not evenly spaced up to `step`.
inline bool extend(StepRun& run, std::int64_t step) noexcept {
  const std::int64_t last = run.last.load(std::memory_order_relaxed), stride = step - last;
  if (run.first.load(std::memory_order_relaxed) == last)
    run.stride.store(stride, std::memory_order_relaxed);
  else if (run.stride.load(std::memory_order_relaxed) != stride)
    return false;
  run.last.store(step, std::memory_order_release);
  return true;
}

// `goes_on`: the step with data before this one was given up, too. When there are more runs of such steps than entries, the oldest ones
// become one range, in which steps that were stored count as given up. A reader looks at the entries first, then at that range.
inline void record_given_up(RegionHeader& header, std::int64_t step, bool goes_on, std::uint64_t& runs) noexcept {
  if (goes_on && runs > 0 && extend(header.given_up[(runs - 1) % kGivenUp], step)) return;
  StepRun& run = header.given_up[runs++ % kGivenUp];
  if (const std::int64_t first = run.first.load(std::memory_order_relaxed); first != kNoStep) {
    const std::int64_t last = run.last.load(std::memory_order_relaxed);
    header.given_up_last.store(last, std::memory_order_relaxed);
    if (header.given_up_first.load(std::memory_order_relaxed) == kNoStep)
      header.given_up_first.store(first, std::memory_order_relaxed);
    run.first.store(kNoStep, std::memory_order_release);
  }
  run.stride.store(1, std::memory_order_relaxed);
  run.last.store(step, std::memory_order_release);
  run.first.store(step, std::memory_order_release);
}

inline bool is_given_up(const RegionHeader& header, std::int64_t step) noexcept {
  const auto holds = [step](const std::atomic<std::int64_t>& first, const std::atomic<std::int64_t>& last) {
    const std::int64_t from = first.load(std::memory_order_acquire);
    const std::int64_t to = last.load(std::memory_order_acquire);
    return from != kNoStep && from <= step && step <= to && from == first.load(std::memory_order_acquire);
  };
  return std::any_of(std::begin(header.given_up), std::end(header.given_up),
                     [&](const StepRun& run) { return holds(run.first, run.last); }) ||
         holds(header.given_up_first, header.given_up_last);
}

// Steps that a dead server has given up since the last one that is durable. The line of each one before is in the manifest, or in the list
// of what that lacks (unrecorded.hpp of src/manifest).
struct GivenUp {
  bool any() const { return !steps.empty() || among; }
  // From the first to the last.
  std::optional<StepRange> range() const {
    if (!any()) return std::nullopt;
    const StepRange known = steps.empty() ? *among : StepRange{steps.front(), steps.back()};
    return among ? StepRange{std::min(known.first, among->first), std::max(known.last, among->last)} : known;
  }

  std::vector<std::int64_t> steps;  // ascending
  std::optional<StepRange> among;   // more than the header has entries for: all of these that had data
};

inline GivenUp given_up_unrecorded(const RegionHeader& header) {
  constexpr std::size_t kMost = 1 << 16;                                             // a stray write may have changed a run
  const std::int64_t durable = header.last_durable.load(std::memory_order_relaxed);  // the server is dead
  GivenUp found;
  if (durable > kHighestStep) return found;
  for (const StepRun& run : header.given_up) {
    const std::int64_t first = run.first.load(std::memory_order_relaxed), last = run.last.load(std::memory_order_relaxed);
    const std::int64_t stride = run.stride.load(std::memory_order_relaxed);
    if (first < 0 || last > kHighestStep || stride < 1 || stride > kHighestStep) continue;
    const std::int64_t passed = durable < first ? 0 : (durable - first) / stride + 1;  // steps of the run
    if (passed > (last - first) / stride) continue;
    const std::int64_t left = (last - first) / stride - passed;
    for (std::int64_t k = 0; k <= left && found.steps.size() < kMost; ++k) found.steps.push_back(first + (passed + k) * stride);
  }
  std::sort(found.steps.begin(), found.steps.end());
  const std::int64_t first = std::max(header.given_up_first.load(std::memory_order_relaxed), durable + 1);
  const std::int64_t last = header.given_up_last.load(std::memory_order_relaxed);
  if (first <= last && last <= kHighestStep) found.among = {first, last};
  return found;
}

}  // namespace damaris::shm
