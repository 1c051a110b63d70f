// Identifies the process that created an object: a fork inherits a copy, and must not finalize, store or remove the creator's resources.
// Used by: every call of the C interface, at the cost of one load, and destructors that do more than free memory; any thread.
// Before it: the object is constructed. After it: the creator proceeds as usual; in a fork, calls are refused and destructors do nothing.
#pragma once

#include <atomic>
#include <cstdint>

namespace damaris {

// Use it as a member. A child of vfork() shares its parent's memory and is indistinguishable from it: it may only exec or _exit.
class CreatorProcess {
 public:
  CreatorProcess() noexcept;
  bool is_this_process() const noexcept { return word_->load(std::memory_order_relaxed) == mark_; }

 private:
  const std::atomic<std::uint64_t>* word_;  // one per process; the kernel clears it in a fork
  std::uint64_t mark_;
};

}  // namespace damaris
