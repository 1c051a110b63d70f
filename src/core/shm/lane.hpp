// A lane: one client thread's single-producer single-consumer ring of messages. All lanes together form the event queue.
// Used by: LaneWriter by one client thread, LaneReader by the server's intake thread.
// Before it: a published block or a signal. After it: the server's intake side.
#pragma once

#include "core/shm/layout.hpp"
#include "core/shm/prefetch.hpp"

namespace damaris::shm {

inline shm::Message* ring_of(LaneHeader* lane) noexcept { return reinterpret_cast<shm::Message*>(lane + 1); }
constexpr std::uint64_t lane_bytes(std::uint64_t messages) { return sizeof(LaneHeader) + messages * sizeof(shm::Message); }

class LaneWriter {
 public:
  LaneWriter() = default;
  LaneWriter(LaneHeader* lane, std::uint64_t capacity) noexcept
      : lane_(lane),
        mask_(capacity - 1),
        head_(lane->head.load(std::memory_order_relaxed)),
        tail_(lane->tail.load(std::memory_order_relaxed)) {}

  // True if `count` messages can be pushed. Only this writer pushes, so the result stays true until it does.
  bool has_room(std::uint64_t count = 1) noexcept {
    if (head_ - tail_ + count <= mask_ + 1) return true;
    tail_ = lane_->tail.load(std::memory_order_acquire);
    return head_ - tail_ + count <= mask_ + 1;
  }

  // Enqueues a copy of the message. Returns false, with the lane unchanged, if the lane is full. Never blocks.
  bool try_push(const shm::Message& message) noexcept {
    if (!has_room()) return false;
    shm::Message& place = ring_of(lane_)[head_ & mask_];
    place = message;
    place.serial = head_;
    lane_->head.store(++head_, std::memory_order_release);
    prefetch_for_write(&ring_of(lane_)[head_ & mask_]);  // the line is in the server core's cache: fetch it before the next push
    return true;
  }

  bool more_than_half_full() noexcept {
    if ((head_ - tail_) * 2 <= mask_ + 1) return false;
    tail_ = lane_->tail.load(std::memory_order_acquire);
    return (head_ - tail_) * 2 > mask_ + 1;
  }
  // Messages that the server has not dequeued. Threads: any. The tail first, which the head is never behind.
  std::uint64_t waiting() const noexcept {
    const std::uint64_t taken = lane_->tail.load(std::memory_order_acquire);
    return lane_->head.load(std::memory_order_relaxed) - taken;
  }

 private:
  LaneHeader* lane_ = nullptr;
  std::uint64_t mask_ = 0;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;  // as last seen; the current tail is never behind it
};

class LaneReader {
 public:
  LaneReader() = default;
  LaneReader(LaneHeader* lane, std::uint64_t capacity) noexcept
      : lane_(lane), mask_(capacity - 1), tail_(lane->tail.load(std::memory_order_relaxed)), head_(tail_) {}

  bool empty() const noexcept { return lane_->head.load(std::memory_order_relaxed) == tail_; }

  // Copies the oldest message into `message` and leaves it in the lane. Returns false if the lane is empty. Never blocks.
  // The caller checks message.serial against position(), because the contents of the lane are not trusted.
  // Looks at the writer's counter only after the messages that it announced before: each look takes the line from the writer.
  bool peek(shm::Message& message) noexcept {
    if (head_ == tail_) {
      const std::uint64_t head = lane_->head.load(std::memory_order_acquire);
      if (head == tail_ || head - tail_ > mask_ + 1) return false;
      head_ = head;
    }
    message = ring_of(lane_)[tail_ & mask_];
    return true;
  }
  // Removes the oldest message; its entry belongs to the writer again.
  void pop() noexcept { lane_->tail.store(++tail_, std::memory_order_release); }
  bool try_take(shm::Message& message) noexcept {
    if (!peek(message)) return false;
    pop();
    return true;
  }

  // Calls `visit(message)` for each message in the lane, oldest first, without removing any.
  template <class Visit>
  void for_each_waiting(Visit&& visit) const {
    const std::uint64_t head = lane_->head.load(std::memory_order_acquire);
    if (head - tail_ > mask_ + 1) return;
    for (std::uint64_t place = tail_; place != head; ++place) visit(ring_of(lane_)[place & mask_]);
  }

  // True if the producer's counter is invalid: more messages than the ring can hold.
  bool damaged() const noexcept { return lane_->head.load(std::memory_order_relaxed) - tail_ > mask_ + 1; }
  std::uint64_t position() const noexcept { return tail_; }

 private:
  LaneHeader* lane_ = nullptr;
  std::uint64_t mask_ = 0;
  std::uint64_t tail_ = 0;
  std::uint64_t head_ = 0;  // as last seen
};

}  // namespace damaris::shm
