// The chunks of this process: one of each thread, mapped from the process's file and filled again and again, or of the node's pool.
// Used by: call.hpp and objects.cpp, each thread on its own chunk.
// Before it: the first call of a thread. After it: DIR/raw/<host>.<pid>.<ns>.trace or the log of the pool's server, complete up to the last
// call even of a killed process.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/slot.hpp"

namespace damaris::recorder {

constexpr unsigned kMostFrames = 64;
constexpr std::uint32_t kDropped = ~0u;  // an object whose calls are not recorded

struct Thread {
  trace::Slot* next;
  trace::Slot* end;
  trace::Slot* chunk;  // nullptr before its first slot
  const void* quiet;  // frame of a wrapper: what the recorder calls itself, and signal handlers then, are not recorded; nullptr: no
  bool in_vfork;      // a child of vfork has this memory
  bool is_attached;   // it takes a chunk for its first slot
  bool refused;       // it has no chunk, and gets none
  std::uint64_t flush_begin, flush_ns;  // of one that has no slot yet; 0: none
  unsigned depth;
  const void* frames[kMostFrames];
};
const void* const kEverything = reinterpret_cast<const void*>(~std::uintptr_t{0});  // a `quiet` above all frames
extern thread_local Thread this_thread __attribute__((tls_model("initial-exec")));

// Whether the process has made a call that counts as its first.
extern bool has_file;
// Makes the thread one that is recorded. False: the process is not, or has no room.
bool attach(Thread& thread);
// Gives the thread its first chunk; copies a full one to the end of the file and empties it, or gives it to the pool's server and takes another
// one. The thread may have no chunk afterwards.
void append_chunk(Thread& thread);
// Of the thread's chunk, in thousandths.
unsigned fill_level(const Thread& thread);
// A call of the recorder itself, beside the one that has just ended in this thread.
void put_own(Thread& thread, std::uint16_t function, std::uint64_t begin, std::uint64_t ns, std::uint64_t bytes);
void put_flush(Thread& thread);
// Flushes a chunk that is not full, and leaves word of it.
void flush_now(Thread& thread);

// Room for `slots` that the caller fills; nullptr if they would not fit into an empty chunk.
inline trace::Slot* room_for(Thread& thread, std::size_t slots) {
  if (__builtin_expect(static_cast<std::size_t>(thread.end - thread.next) < slots, 0)) append_chunk(thread);
  return static_cast<std::size_t>(thread.end - thread.next) < slots ? nullptr : thread.next;
}

// What a text slot says besides its text, see slot.hpp. The thread is quiet.
struct TextHead {
  trace::Text what;
  std::uint32_t object = 0;
  std::int64_t place = 0;
  std::uint64_t begin = 0;
};
void put_text(const TextHead& head, const char* text, std::size_t bytes);
void put_unobserved(const char* what);
// `how` the process ends, and what the kernel has counted.
void say_last_words(const char* how);

// Of write calls that have no slot.
extern std::uint64_t unrecorded_bytes;
inline void count_unrecorded(std::uint64_t bytes) { __atomic_fetch_add(&unrecorded_bytes, bytes, __ATOMIC_RELAXED); }

// The process has been forked: what its parent knew is not its own.
void forget_parent();

}  // namespace damaris::recorder
