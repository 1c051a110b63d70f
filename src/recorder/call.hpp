// One wrapped call: what its wrapper does before and behind the real function.
// Used by: generated wrappers, on the thread of the call. Keeps errno; takes no lock and, but for a full chunk, makes no system call.
// Before it: the program called the wrapper. After it: a slot in the thread's chunk.
#pragma once

#include <time.h>

#include <cerrno>
#include <cstdint>
#include <type_traits>

#include "recorder/chunk.hpp"
#include "recorder/real.hpp"
#include "trace/slot.hpp"

namespace damaris::recorder {

template <class Function>
struct Plain;  // a function's type without noexcept, by which a table's prototype is compared with the header's
template <class Result, class... Parameters>
struct Plain<Result(Parameters...)> {
  using Type = Result(Parameters...);
};
template <class Result, class... Parameters>
struct Plain<Result(Parameters...) noexcept> : Plain<Result(Parameters...)> {};
template <class Result, class... Parameters>
struct Plain<Result(Parameters..., ...)> {
  using Type = Result(Parameters..., ...);
};
template <class Result, class... Parameters>
struct Plain<Result(Parameters..., ...) noexcept> : Plain<Result(Parameters..., ...)> {};
template <class Header, class Table>
constexpr bool kSame = std::is_same_v<typename Plain<Header>::Type, Table>;

inline std::uint64_t now_ns() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

// What a function returns that is nowhere to be found.
template <class Result>
Result missing() {
  if constexpr (std::is_void_v<Result>)
    return;
  else if constexpr (std::is_signed_v<Result>)
    return -1;
  else
    return Result();
}
// How a layer tells of a failure: a negative number or no pointer, or, as MPI, another number than 0.
template <class Result>
bool is_negative(Result result) {
  if constexpr (std::is_pointer_v<Result>) return result == nullptr;
  if constexpr (std::is_signed_v<Result>) return result < 0;
  return false;
}
template <class Count>
std::uint64_t moved(Count count) {
  return is_negative(count) ? 0 : static_cast<std::uint64_t>(count);
}

class Call {
 public:
  // `frame`: of the wrapper. False: only call the real function. `is_first`: it may be the first of the process. Between fork and exec a
  // child closes and copies descriptors, and nothing else: it gets no file.
  bool enter(const void* frame, bool is_first) {
    Thread& thread = this_thread;
    // The stack grows downwards: what is not above this frame has been left, by an exception.
    if (__builtin_expect(thread.quiet != nullptr && thread.quiet <= frame, 0)) thread.quiet = nullptr;
    const bool is_new = !thread.is_attached;
    if (__builtin_expect(thread.quiet != nullptr || (is_new && ((!is_first && !has_file) || !attach(thread))), 0)) return false;
    unsigned depth = thread.depth;
    frame_ = frame;
    while (depth > 0 && depth <= kMostFrames && thread.frames[depth - 1] <= frame) --depth;
    if (depth < kMostFrames) thread.frames[depth] = frame;
    depth_ = depth;
    thread.depth = depth + 1;
    return true;
  }

  // What the recorder itself asks libraries for.
  template <class Ask>
  void look(Ask ask) {
    const int error = errno;
    this_thread.quiet = frame_;
    ask();
    this_thread.quiet = nullptr;
    errno = error;
  }
  // For all that happens inside: MPI_Init opens hundreds of files of its own.
  void be_silent() { this_thread.quiet = frame_; }

  void begin() { begin_ = now_ns(); }

  // Leaves word of a write, in case that the process dies inside.
  void begin_write(std::uint16_t function, std::uint32_t object, std::uint64_t asked, std::int64_t place) {
    Thread& thread = this_thread;
    trace::Slot* slot = object == kDropped ? nullptr : room_for(thread, 2);
    if (__builtin_expect(thread.flush_ns != 0, 0)) {
      put_flush(thread);
      if (slot != nullptr) slot = room_for(thread, 2);
    }
    begin();
    if (slot == nullptr) return;
    fill(*slot, object, asked, place);
    slot->flags = trace::cut;
    slot->duration = function;
    __atomic_store_n(&slot->function, std::uint16_t{trace::started}, __ATOMIC_RELEASE);
  }

  // `error`: of a failed one.
  void returned(bool has_failed, int error) {
    const std::uint64_t end = now_ns();
    errno_ = errno;
    failed = has_failed;
    error_ = error;
    this_thread.quiet = frame_;
    duration_ = end - begin_;
  }

  void write(std::uint16_t function, std::uint32_t object, std::uint64_t bytes, std::int64_t place) {
    is_written_ = object != kDropped;
    if (is_written_) put(this_thread, function, object, bytes, place);
  }

  // About a request of the call that has been written, see slot.hpp.
  void add(trace::Auxiliary what, std::uint64_t handle, std::uint64_t bytes, std::int64_t place, std::uint8_t flags,
           std::uint32_t object = 0) const {
    Thread& thread = this_thread;
    trace::Slot* const slot = is_written_ ? room_for(thread, 1) : nullptr;
    if (slot == nullptr) return;
    slot->begin = handle;
    slot->flags = flags;
    slot->object = object;
    slot->bytes = bytes >= trace::kLong ? trace::kLong : static_cast<std::uint32_t>(bytes);
    slot->place = place;
    __atomic_store_n(&slot->function, static_cast<std::uint16_t>(what), __ATOMIC_RELEASE);
    ++thread.next;
  }

  void end() {
    Thread& thread = this_thread;
    if (__builtin_expect(thread.flush_ns != 0, 0)) put_flush(thread);
    thread.depth = depth_;
    thread.quiet = nullptr;
    errno = errno_;
  }

  bool failed = false;

 private:
  void fill(trace::Slot& slot, std::uint32_t object, std::uint64_t bytes, std::int64_t place) const {
    slot.begin = begin_;
    slot.depth = static_cast<std::uint8_t>(depth_ < 255 ? depth_ : 255);
    slot.object = object;
    slot.bytes = bytes >= trace::kLong ? trace::kLong : static_cast<std::uint32_t>(bytes);
    slot.place = place;
  }

  void put(Thread& thread, std::uint16_t function, std::uint32_t object, std::uint64_t bytes, std::int64_t place) {
    trace::Slot* const slot = room_for(thread, 2);
    if (slot == nullptr) return;
    const bool is_long = duration_ >= trace::kLong || bytes >= trace::kLong;
    std::uint8_t flags = failed ? trace::failed : 0;
    if (is_long || failed) {
      flags |= trace::has_more;
      slot[1].begin = duration_;
      slot[1].place = failed ? error_ : static_cast<std::int64_t>(bytes);
      slot[1].function = trace::more;
    }
    fill(*slot, object, bytes, place);
    slot->duration = duration_ >= trace::kLong ? trace::kLong : static_cast<std::uint32_t>(duration_);
    slot->flags = flags;
    __atomic_store_n(&slot->function, function, __ATOMIC_RELEASE);
    thread.next += (flags & trace::has_more) != 0 ? 2 : 1;
  }

  const void* frame_ = nullptr;
  std::uint64_t begin_ = 0, duration_ = 0;
  unsigned depth_ = 0;
  int errno_ = 0, error_ = 0;
  bool is_written_ = false;
};

}  // namespace damaris::recorder
