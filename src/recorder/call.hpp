// One wrapped call: what its wrapper does before and behind the real function.
// Used by: generated wrappers, on the thread of the call. Keeps errno; takes no lock and, but for a full chunk, makes no system call.
// Before it: the program called the wrapper. After it: a slot in the thread's chunk.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>
#include <time.h>

#include <cerrno>
#include <cstdint>
#include <type_traits>

#include "recorder/chunk.hpp"
#include "trace/slot.hpp"

namespace damaris::recorder {

// The function behind a wrapper, looked up at its first use.
template <class Function>
class Real {
 public:
  constexpr explicit Real(const char* name) : name_(name) {}
  Function* function() {
    Function* known = __atomic_load_n(&function_, __ATOMIC_RELAXED);
    if (__builtin_expect(known == nullptr, 0)) {
      known = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name_));
      if (known == nullptr) known = reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name_));
      __atomic_store_n(&function_, known, __ATOMIC_RELAXED);
    }
    return known;
  }

 private:
  const char* name_;
  Function* function_ = nullptr;
};

inline bool has_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

template <class Result>
bool has_failed(Result result) {
  if constexpr (std::is_pointer_v<Result>) return result == nullptr;
  if constexpr (std::is_signed_v<Result>) return result < 0;
  return false;
}
template <class Count>
std::uint64_t moved(Count count) {
  return has_failed(count) ? 0 : static_cast<std::uint64_t>(count);
}

inline std::uint64_t now_ns() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

class Call {
 public:
  // `frame`: of the wrapper. False: only call the real function.
  bool begin(const void* frame) {
    Thread& thread = this_thread;
    if (__builtin_expect(thread.busy || (thread.chunk == nullptr && !attach(thread)), 0)) return false;
    unsigned depth = thread.depth;
    // The stack grows downwards: a call whose frame is not above this one has been left, by longjmp or an exception.
    while (depth > 0 && depth <= kMostFrames && thread.frames[depth - 1] <= frame) --depth;
    if (depth < kMostFrames) thread.frames[depth] = frame;
    depth_ = depth;
    thread.depth = depth + 1;
    begin_ = now_ns();
    return true;
  }

  void returned(bool has_failed) {
    const std::uint64_t end = now_ns();
    error_ = errno;
    failed = has_failed;
    Thread& thread = this_thread;
    thread.busy = true;
    duration_ = end - begin_;
  }

  void end(std::uint16_t function, std::uint32_t object, std::uint64_t bytes, std::int64_t place) {
    Thread& thread = this_thread;
    if (object != kDropped) put(thread, function, object, bytes, place);
    thread.depth = depth_;
    thread.busy = false;
    errno = error_;
  }

  bool failed = false;

 private:
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
    slot->begin = begin_;
    slot->duration = duration_ >= trace::kLong ? trace::kLong : static_cast<std::uint32_t>(duration_);
    slot->depth = static_cast<std::uint8_t>(depth_ < 255 ? depth_ : 255);
    slot->flags = flags;
    slot->object = object;
    slot->bytes = bytes >= trace::kLong ? trace::kLong : static_cast<std::uint32_t>(bytes);
    slot->place = place;
    __atomic_store_n(&slot->function, function, __ATOMIC_RELEASE);
    thread.next += (flags & trace::has_more) != 0 ? 2 : 1;
  }

  std::uint64_t begin_ = 0, duration_ = 0;
  unsigned depth_ = 0;
  int error_ = 0;
};

}  // namespace damaris::recorder
