// A lane: one client thread's single-producer single-consumer ring of messages, 64 bytes each. All lanes together form the event queue.
// Used by: LaneWriter by one client thread, LaneReader by the server's intake thread, or a recovery in its place.
// Before it: dc_write, dc_signal, ...: a published block or a signal. After it: the server's intake side.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/shm/layout.hpp"

namespace damaris::shm {

// The closed set of what a client sends to its server.
enum class MessageKind : std::uint32_t {
  write = 1,          // a block was published: `block_offset`
  signal = 2,         // a user's event: `name` is its id
  end_iteration = 3,  // no further messages for steps <= `step` in this lane
  set_time = 4,       // `time` is the physical time of `step`
  flush = 5,          // the client waits for `step`: do not defer it
  finalize = 6,       // the lane's last message
  read = 7,           // requests data that an earlier run stored of `step`, into the block at `block_offset`
  last_step = 8,      // requests the last stored step of variable `name`, or of kAnyVariable, into the block at `block_offset`
  skipped = 9,        // `count` writes of variable `name` in `step` were refused: the variable is skipped
  dropped = 10,       // the same: the whole step is dropped
  append = 11,        // bytes of a log were published: `block_offset`; belongs to no step
  log_commit = 12,    // asks when all earlier appends of this lane to log `name` are in its files; with `count`, durable there
};

struct alignas(64) Message {
  MessageKind kind;
  std::uint32_t name;  // signal: event id; last_step, skipped, dropped: variable id; log_commit: log
  std::int64_t step;
  std::uint64_t block_offset;  // write, read, last_step, append, log_commit: offset of the block header in the region, bytes
  double time;                 // set_time: in the simulation's unit
  std::uint64_t serial;        // sequence number in the lane, from 0; a mismatch indicates a damaged lane
  std::uint64_t
      count;  // skipped, dropped: writes; end_iteration: writes that waited for room since the last one; log_commit: see there
  std::uint64_t reserved;
};
static_assert(sizeof(Message) == 64 && std::is_trivially_copyable_v<Message>);

inline constexpr std::uint32_t kAnyVariable = ~std::uint32_t{0};

// True for the kinds of this version. The server checks before it dispatches.
constexpr bool known(MessageKind kind) noexcept { return kind >= MessageKind::write && kind <= MessageKind::log_commit; }

// A hint: any address is allowed.
inline void prefetch_for_write(const void* address) noexcept {
#if defined(__x86_64__)
  // Without -mprfchw the built-in fetches the line in shared state, and the store would still have to wait for exclusive ownership.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

inline Message* ring_of(LaneHeader* lane) noexcept { return reinterpret_cast<Message*>(lane + 1); }
constexpr std::uint64_t lane_bytes(std::uint64_t messages) { return sizeof(LaneHeader) + messages * sizeof(Message); }

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
  bool try_push(const Message& message) noexcept {
    if (!has_room()) return false;
    Message& place = ring_of(lane_)[head_ & mask_];
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
  bool peek(Message& message) noexcept {
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
  bool try_take(Message& message) noexcept {
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
