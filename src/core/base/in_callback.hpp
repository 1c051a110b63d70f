// Tracks whether the calling thread is inside a plugin callback, where it must not call the client interface.
// Used by: the plugin host, around every callback; the C interface, before every call, at the cost of one load.
#pragma once

#include <atomic>

namespace damaris {

class InCallback {
 public:
  InCallback() noexcept;
  ~InCallback();
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;

  // Relaxed: a thread always sees its own stores.
  static bool is_here() noexcept { return running_.load(std::memory_order_relaxed) != 0 && is_this_thread(); }

 private:
  static bool is_this_thread() noexcept;
  static std::atomic<int> running_;  // defined in libdamaris only, shared by all libraries of the process
};

}  // namespace damaris
