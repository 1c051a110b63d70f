// What the recorder writes: one 32-byte slot a call, in chunks of a process's file.
// Used by: the recorder, each thread in its own chunk; the kernel that decodes them.
// Before it: a wrapped call has returned. After it: docs/trace-format.md, the store.
#pragma once

#include <cstddef>
#include <cstdint>

namespace damaris::trace {

// Of the call that has just returned: written then, so that calls inside it come before it, one level deeper.
struct Slot {
  std::uint64_t begin;     // ns of CLOCK_MONOTONIC; of a text: see Text
  std::uint32_t duration;  // ns; kLong: the `more` slot behind it has the value
  std::uint16_t function;  // written last; 0: nothing is here yet
  std::uint8_t depth;      // number of recorded calls around it in its thread
  std::uint8_t flags;
  std::uint32_t object;  // a number that a text slot of the same process explains; 0: none
  std::uint32_t bytes;   // kLong: in the `more` slot
  std::int64_t place;    // file offset, kImplicit for the descriptor's own; (peer, tag) or root of a message; kNowhere
};
static_assert(sizeof(Slot) == 32);

constexpr std::uint32_t kLong = ~0u;
constexpr std::int64_t kNowhere = INT64_MIN, kImplicit = INT64_MIN + 1;

enum Flag : std::uint8_t {
  failed = 1,    // `place` of the `more` slot is the error
  has_more = 2,  // a `more` slot follows
  cut = 4,       // the process died inside: `bytes` is what was asked for
};

// Functions below kFirstCall are no calls.
enum Auxiliary : std::uint16_t {
  more = 1,     // of the slot before: begin = duration, place = bytes or error
  text = 2,     // `bytes` bytes of text follow in whole slots; `flags`: its Text
  started = 3,  // a write that has not returned: `duration` is its function. The slot of the write overwrites it
  // Of the call before it in its thread; `begin` is the handle of MPI's request:
  requested = 4,  // the call has made it
  completed = 5,  // the call has waited for it; of what was received `place` is (source, tag). `flags`: its Completion
  // Of the call before it in its thread, of the layers damaris and server: it moved `begin` bytes of the block `place`, (source, block), of
  // its variable and step; `object`: the run of the simulation, folded. One for each block.
  of_block = 6,
  kFirstCall = 16,
};
// Functions of the recorder itself, which generate.py puts into functions.json.
constexpr std::uint16_t kFlush = kFirstCall + 700, kSynchronise = kFlush + 1;
enum Text : std::uint8_t {
  process = 1,  // key=value lines about the process
  path = 2,  // of `object`, a file. `place`: its flags, as of F_GETFL; `begin`: the descriptor's offset before the next call on it
  loss = 3,  // a reason; `place`: calls that are not in the trace
  description = 4,  // key=value lines about `object`
  end = 5,          // key=value lines, the last words of the process; `begin`: when
  renamed = 6,      // the path that the file `object` had until `begin`
};

enum Completion : std::uint8_t {
  cancelled = 1,
  released = 2,  // by MPI_Request_free: MPI completes it some time
  half = 4,      // there is no request: what a Sendrecv received
};

// (peer, tag) of a message, each -1 for any or none.
constexpr std::int64_t message(int peer, int tag) {
  return static_cast<std::int64_t>(std::uint64_t{static_cast<std::uint32_t>(peer)} << 32 | static_cast<std::uint32_t>(tag));
}

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
constexpr char kMagic[8] = {'D', 'C', 'T', 'R', 'A', 'C', 'E', '\0'};
constexpr std::uint32_t kVersion = 3;

// The first two slots of a chunk. A thread fills one again and again; each full one is copied to the end of the file. So a reader may meet a
// (thread, sequence) twice after a kill, and takes it once.
struct ChunkHead {
  char magic[8];
  std::uint32_t version;
  std::uint32_t bytes;   // of the chunk; in a log without what is empty at its end
  std::uint32_t thread;  // in the order of their first call; a thread that begins after another has ended may go on with its number
  std::uint32_t sequence;  // of the chunk in its thread
  std::uint64_t process;   // when it was first recorded: the same in all its chunks
  // The most of all chunks counts: chunks for which the file system had no room, and slots that were in them.
  std::uint64_t lost_chunks, lost_slots;
  std::int32_t pid;  // of the process; 0 where the recorder was older
  char reserved[12];
};
static_assert(sizeof(ChunkHead) == 2 * sizeof(Slot));

}  // namespace damaris::trace
