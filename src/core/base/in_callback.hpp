// Whether the calling thread is in a callback of a plugin: it then belongs to the server, and must not call the client interface.
// Used by: the plugin host, around every callback; the C interface, before every call, for the price of one load.
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
  static std::atomic<int> running_;  // in libdamaris alone, for all libraries of a process
};

}  // namespace damaris
