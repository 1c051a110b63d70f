// Whether the calling thread is in a callback of a plugin: it belongs to the server then, and must not call as a client.
// Used by: the plugin host, around every callback; the C interface, before every call, for the price of one load.
#pragma once

#include <atomic>

namespace damaris::server {

class InCallback {
 public:
  InCallback() noexcept {
    running_.fetch_add(1, std::memory_order_relaxed);
    ++here_;
  }
  ~InCallback() {
    --here_;
    running_.fetch_sub(1, std::memory_order_relaxed);
  }
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;

  // A thread sees what it did itself, in whatever order others do: so relaxed.
  static bool is_here() noexcept { return running_.load(std::memory_order_relaxed) != 0 && here_ != 0; }

 private:
  static inline std::atomic<int> running_{0};
  static inline thread_local int here_ = 0;
};

}  // namespace damaris::server
