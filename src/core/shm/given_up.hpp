// The steps that a server has given up although clients had written them, so that a flush never takes one of them for durable.
// Used by: the server's intake thread, the only writer; the client's thread in a flush.
// Before it: a step that the storage could not store. After it: the code of dc_flush.
#pragma once

#include <algorithm>
#include <iterator>

#include "core/shm/layout.hpp"

namespace damaris::shm {

inline void clear_given_up(RegionHeader& header) noexcept {
  for (StepRun& run : header.given_up) {
    run.first.store(kNoStep, std::memory_order_relaxed);
    run.last.store(kNoStep, std::memory_order_relaxed);
  }
  header.given_up_first.store(kNoStep, std::memory_order_relaxed);
  header.given_up_last.store(kNoStep, std::memory_order_relaxed);
}

// `goes_on`: the step with data before this one was given up, too. When there are more runs of such steps than entries, the oldest ones
// become one range, in which steps that were stored count as given up. A reader looks at the entries first, then at that range.
inline void record_given_up(RegionHeader& header, std::int64_t step, bool goes_on, std::uint64_t& runs) noexcept {
  if (goes_on && runs > 0) return header.given_up[(runs - 1) % kGivenUp].last.store(step, std::memory_order_release);
  StepRun& run = header.given_up[runs++ % kGivenUp];
  if (const std::int64_t first = run.first.load(std::memory_order_relaxed); first != kNoStep) {
    const std::int64_t last = run.last.load(std::memory_order_relaxed);
    header.given_up_last.store(last, std::memory_order_relaxed);
    if (header.given_up_first.load(std::memory_order_relaxed) == kNoStep)
      header.given_up_first.store(first, std::memory_order_relaxed);
    run.first.store(kNoStep, std::memory_order_release);
  }
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

}  // namespace damaris::shm
