// Which process made an object: a fork gets a copy of it, and must not end, store or remove what belongs to the maker.
// Used by: every call of the C interface, by one load, and destructors that do more than free memory; any thread.
// Before it: the object is made. After it: the maker works as usual; a fork is refused, or does nothing.
#pragma once

#include <atomic>
#include <cstdint>

namespace damaris {

// A member of such an object. A child of vfork() shares its parent's memory and cannot be distinguished from it: it may only exec or _exit.
class CreatorProcess {
 public:
  CreatorProcess() noexcept;
  bool is_this_process() const noexcept { return word_->load(std::memory_order_relaxed) == mark_; }

 private:
  const std::atomic<std::uint64_t>* word_;  // of each process; the kernel clears it in a fork, however that was made
  std::uint64_t mark_;
};

}  // namespace damaris
