// Facts about open steps besides their blocks, for recovery: physical times, and whether writes were refused, without which an incomplete
// step would count as complete.
// Used by: the server, the only writer; the process that adopts or removes the region of a dead server.
// Before it: messages of clients. After it: the steps of a recovery.
//
// A server may be killed between any two stores: a reader then applies a fact to more steps than it is true for, never to fewer. The two
// stores with release keep the compiler from naming a step, or a time, before what it stands for is there; the message that brought
// a fact is removed from its lane with release, too. Readers need no order, because the kernel has said that the writer is dead.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "core/shm/frontier.hpp"
#include "core/shm/layout.hpp"
#include "core/shm/omission.hpp"

namespace damaris::shm {

inline constexpr std::uint32_t kHasTime = 1, kLacksWrites = 2;  // facts

inline void clear_open_steps(RegionHeader& header) noexcept {
  for (OpenStep& entry : header.open_steps) entry.step.store(kNoStep, std::memory_order_relaxed);
  header.overflow_first.store(kNoStep, std::memory_order_relaxed);
  header.overflow_last.store(kNoStep, std::memory_order_relaxed);
}

// The entry of the step, or a free one (unused, or of a settled step), which it assigns to the step. nullptr if open steps use them all.
inline OpenStep* take_open_step(RegionHeader& header, std::int64_t step) noexcept {
  const std::int64_t settled = header.last_processed.load(std::memory_order_relaxed);
  OpenStep* free = nullptr;
  for (std::uint64_t probe = 0; probe < kOpenSteps; ++probe) {
    OpenStep& entry = header.open_steps[(static_cast<std::uint64_t>(step) + probe) % kOpenSteps];
    const std::int64_t there = entry.step.load(std::memory_order_relaxed);
    if (there == step) return &entry;
    if (there <= settled && free == nullptr) free = &entry;
    if (there == kNoStep) break;  // never used, so the step has no entry beyond it
  }
  if (free == nullptr) return nullptr;
  free->facts.store(0, std::memory_order_relaxed);
  free->step.store(step, std::memory_order_release);
  return free;
}

// Extends the overflow range, for steps without an entry. Restarts the range if its last step is settled.
inline void record_overflow(RegionHeader& header, std::int64_t step, std::uint32_t fact) noexcept {
  const std::int64_t settled = header.last_processed.load(std::memory_order_relaxed);
  const std::int64_t first = header.overflow_first.load(std::memory_order_relaxed);
  const std::int64_t last = header.overflow_last.load(std::memory_order_relaxed);
  const bool over = last <= settled;
  header.overflow_facts.store(over ? fact : header.overflow_facts.load(std::memory_order_relaxed) | fact,
                              std::memory_order_relaxed);
  if (over) header.overflow_last.store(kNoStep, std::memory_order_relaxed);
  header.overflow_first.store(over ? step : std::min(first, step), std::memory_order_relaxed);
  header.overflow_last.store(over ? step : std::max(last, step), std::memory_order_relaxed);
}

inline void record_time(RegionHeader& header, std::int64_t step, double time) noexcept {
  OpenStep* entry = take_open_step(header, step);
  if (entry == nullptr) return record_overflow(header, step, kHasTime);
  entry->time.store(time, std::memory_order_relaxed);
  entry->facts.fetch_or(kHasTime, std::memory_order_release);
}

inline void record_omission(RegionHeader& header, std::int64_t step) noexcept {
  OpenStep* entry = take_open_step(header, step);
  if (entry == nullptr) return record_overflow(header, step, kLacksWrites);
  entry->facts.fetch_or(kLacksWrites, std::memory_order_relaxed);
}

struct KnownStep {
  std::int64_t step = kNoStep;
  std::optional<double> time;
  bool lacks_writes = false;
};

// The facts that a dead server recorded about steps that were not settled; no value is trusted.
inline std::vector<KnownStep> known_open_steps(const RegionHeader& header, const SettledSteps& settled) {
  std::vector<KnownStep> steps;
  for (const OpenStep& entry : header.open_steps) {
    const std::int64_t step = entry.step.load(std::memory_order_relaxed);
    const std::uint32_t facts = entry.facts.load(std::memory_order_relaxed);
    if (settled.contains(step) || step > kHighestStep) continue;
    steps.push_back({step, {}, (facts & kLacksWrites) != 0});
    if ((facts & kHasTime) != 0) steps.back().time = entry.time.load(std::memory_order_relaxed);
  }
  return steps;
}

// A range of steps, of which only some have these facts; empty if first > last.
struct OverflowSteps {
  std::int64_t first = 0, last = kNoStep;
  bool may_have_times = false, may_lack_writes = false;
};

inline OverflowSteps overflow_steps(const RegionHeader& header, const SettledSteps& settled) noexcept {
  const std::uint32_t facts = header.overflow_facts.load(std::memory_order_relaxed);
  return {
      std::max(header.overflow_first.load(std::memory_order_relaxed), std::max<std::int64_t>(settled.last_processed, kNoStep) + 1),
      std::min(header.overflow_last.load(std::memory_order_relaxed), kHighestStep), (facts & kHasTime) != 0,
      (facts & kLacksWrites) != 0};
}

// The range of steps that recovery must record as partial regardless of the remaining blocks; nothing if there is none.
inline std::optional<StepRange> lacks_writes(const RegionHeader& header) {
  const SettledSteps settled = settled_steps(header);
  std::vector<std::int64_t> steps = omitted_steps(header, settled);
  const OverflowSteps overflow = overflow_steps(header, settled);
  if (overflow.may_lack_writes && overflow.first <= overflow.last) steps.insert(steps.end(), {overflow.first, overflow.last});
  for (const KnownStep& known : known_open_steps(header, settled))
    if (known.lacks_writes) steps.push_back(known.step);
  if (steps.empty()) return std::nullopt;
  const auto [first, last] = std::minmax_element(steps.begin(), steps.end());
  return StepRange{*first, *last};
}

}  // namespace damaris::shm
