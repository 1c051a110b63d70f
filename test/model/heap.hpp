// Memory for operator new inside the watched memory: what containers of a scenario hold is watched like the rest.
// Used by: the explorer, at the begin of each run; OnWatchedHeap; operator new and delete.
// Before it: a scenario that is being made. After it: run.hpp.
#pragma once

#include "model/explorer.hpp"

namespace damaris::explorer {

// Only grows, and is empty again at the next run.
class Heap {
 public:
  void begin(std::byte* memory) { begin_ = memory + kHeapOffset, end_ = memory + kMemoryBytes, next_ = begin_; }
  void empty() { next_ = begin_; }
  void use(bool wanted) { used_ = wanted; }
  bool is_used() const { return used_; }
  // nullptr if there is no room.
  void* take(std::size_t bytes) {
    if (static_cast<std::size_t>(end_ - next_) < bytes) return nullptr;
    std::byte* taken = next_;
    next_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return taken;
  }
  bool holds(const void* address) const { return address >= begin_ && address < end_; }

 private:
  static constexpr std::size_t kAlignment = 64;
  std::byte *begin_ = nullptr, *end_ = nullptr, *next_ = nullptr;
  bool used_ = false;
};

extern Heap heap;

}  // namespace damaris::explorer
