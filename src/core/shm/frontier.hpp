// The frontier of a server: how far its steps are, and which one it is releasing.
// Used by: the server's intake thread, the only writer; clients; the process that adopts the region of a dead server.
// Before it: the answer of the storage, and the reports about it in the mailboxes. After it: dc_flush, dc_status, recovery.
#pragma once

#include "core/shm/layout.hpp"

namespace damaris::shm {

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

struct StepRange {
  std::int64_t first = 0, last = 0;
};

// The steps that a server had stored when it died, in order; and one that it was releasing, which may come after steps that a recovery could
// not store.
struct SettledSteps {
  SettledSteps(std::int64_t processed = kNoStep, std::int64_t releasing_step = kNoStep) noexcept
      : last_processed(processed), releasing(releasing_step) {}
  bool contains(std::int64_t step) const noexcept { return step <= last_processed || step == releasing; }

  std::int64_t last_processed;
  std::int64_t releasing;
};

// Relaxed, like all that is read of a dead server alone: the kernel, which says that it is dead, has ordered that.
inline SettledSteps settled_steps(const RegionHeader& header) noexcept {
  return {header.last_processed.load(std::memory_order_relaxed), header.releasing.load(std::memory_order_relaxed)};
}

}  // namespace damaris::shm
