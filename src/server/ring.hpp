// A bounded queue from one thread to another, without a lock: neither side ever waits for the other.
// Used by: the server's intake and work threads, one ring each way; in place both sides are one thread.
// Before it: a side that pushes owned values. After it: the other side, which pops them in order.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace damaris::server {

template <class T>
class Ring {
 public:
  explicit Ring(std::size_t capacity) : slots_(capacity) {}

  // Returns false if the ring is full; `value` stays with the caller then.
  bool try_push(T& value) {
    if (full()) return false;
    const std::size_t head = head_.load(std::memory_order_relaxed);
    slots_[head % slots_.size()] = std::move(value);
    head_.store(head + 1, std::memory_order_release);
    return true;
  }
  std::optional<T> try_pop() {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (head_.load(std::memory_order_acquire) == tail) return std::nullopt;
    T& slot = slots_[tail % slots_.size()];
    std::optional<T> value(std::move(slot));
    slot = T();  // what it held is freed by the side that took it
    tail_.store(tail + 1, std::memory_order_release);
    return value;
  }
  // For the pushing side: once false it stays so until it pushes.
  bool full() const noexcept {
    return head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_acquire) == slots_.size();
  }
  // For the popping side.
  bool empty() const noexcept { return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_relaxed); }

 private:
  std::vector<T> slots_;
  alignas(64) std::atomic<std::size_t> head_{0};  // the pushing side's
  alignas(64) std::atomic<std::size_t> tail_{0};  // the popping side's
};

}  // namespace damaris::server
