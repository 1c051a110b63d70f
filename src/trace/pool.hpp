// The chunks of a node's processes in shared memory: a server writes those that are full into few files.
// Used by: the recorder, each thread in its own chunk; the server of `damaris record --server`; python/damaris/raw.py reads the same.
// Before it: `damaris record --server` has made it. After it: a log whose streams are processes, see docs/trace-format.md.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "trace/slot.hpp"

namespace damaris::trace {

constexpr char kPoolMagic[8] = {'D', 'C', 'T', 'P', 'O', 'O', 'L', '\0'};
constexpr std::uint32_t kPoolVersion = 1;
constexpr std::size_t kMostProcesses = 4096;  // at a time
constexpr std::size_t kMostChunks = 65536;

// All words are read and written by __atomic builtins, sequentially consistent: none of it is on the path of a call.
struct PoolHead {
  char magic[8];  // written last
  std::uint32_t version;
  std::uint32_t chunks;         // of the pool
  std::int32_t server;          // its pid
  std::uint32_t wait_ms;        // at most, for a free chunk, and at the end
  std::uint64_t server_start;   // its start time, field 22 of /proc/PID/stat
  std::uint64_t last_stream;    // processes add 1 and have the sum
  std::uint32_t closed;         // by the server: who comes now writes a file of its own
  std::uint32_t ended;          // by the server: everything is stored. A futex
  std::uint32_t filled, freed;  // futexes: counted up by who fills a chunk, and by the server that has stored some
  char reserved[8];
};
static_assert(sizeof(PoolHead) == 64);

// The process sets `pid`, then its stream; the server takes both away when it is dead. Without a stream: it is about to become a program.
// One that has become another program has another stream, and the chunks of the one before are over.
struct PoolProcess {
  std::int32_t pid;
  std::uint32_t unused;
  std::uint64_t stream;
};
static_assert(sizeof(PoolProcess) == 16);

// Whose a chunk is: 0 of nobody, else the stream and whether it is full. Nobody to stream: a process; full: the same one; to nobody: the
// server, after it has written and emptied the chunk.
constexpr std::uint64_t kFull = 1;
constexpr std::uint64_t owner_of(std::uint64_t stream) { return stream << 1; }

constexpr std::size_t kProcessesAt = 4096, kOwnersAt = kProcessesAt + kMostProcesses * sizeof(PoolProcess);
constexpr std::size_t kFirstChunkAt = kChunkBytes;
static_assert(kOwnersAt + kMostChunks * sizeof(std::uint64_t) <= kFirstChunkAt);
constexpr std::size_t pool_bytes(std::size_t chunks) { return kFirstChunkAt + chunks * kChunkBytes; }

// The parts of a pool that is mapped at `base`.
class Pool {
 public:
  constexpr Pool() = default;
  // `bytes` are mapped. How many chunks there are is not taken from the head, into which any process of the job may write.
  Pool(void* base, std::size_t bytes)
      : base_(static_cast<char*>(base)),
        chunks_(bytes <= kFirstChunkAt ? 0
                                       : static_cast<std::uint32_t>(std::min(kMostChunks, (bytes - kFirstChunkAt) / kChunkBytes))) {
  }
  std::uint32_t chunks() const { return chunks_; }
  bool is_there() const { return base_ != nullptr; }
  PoolHead& head() const { return *reinterpret_cast<PoolHead*>(base_); }
  PoolProcess* processes() const { return reinterpret_cast<PoolProcess*>(base_ + kProcessesAt); }
  std::uint64_t* owners() const { return reinterpret_cast<std::uint64_t*>(base_ + kOwnersAt); }
  char* chunk(std::size_t number) const { return base_ + kFirstChunkAt + number * kChunkBytes; }
  std::size_t number_of(const void* chunk) const {
    return static_cast<std::size_t>(static_cast<const char*>(chunk) - base_ - kFirstChunkAt) / kChunkBytes;
  }
  bool has(const void* chunk) const {
    const auto* const at = static_cast<const char*>(chunk);
    return base_ != nullptr && at >= base_ + kFirstChunkAt && at < base_ + pool_bytes(chunks_);
  }

 private:
  char* base_ = nullptr;
  std::uint32_t chunks_ = 0;
};

template <class Word>
Word load(const Word& word) {
  return __atomic_load_n(&word, __ATOMIC_SEQ_CST);
}
template <class Word, class Value>
void store(Word& word, Value value) {
  __atomic_store_n(&word, static_cast<Word>(value), __ATOMIC_SEQ_CST);
}
// From 0 to `value`; false: another one was first.
template <class Word>
bool claim(Word& word, Word value) {
  Word nobody = 0;
  return __atomic_compare_exchange_n(&word, &nobody, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

// Sleeps while `word` holds `seen`, at most `ms`; may return early.
inline void wait(std::uint32_t& word, std::uint32_t seen, long ms) {
  const timespec most = {ms / 1000, ms % 1000 * 1'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &most, nullptr, 0);
}
// Counts it up and wakes who sleeps on it.
inline void ring(std::uint32_t& word) {
  __atomic_add_fetch(&word, 1, __ATOMIC_SEQ_CST);
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

// The entry of a process, made if there is none; nullptr if all are taken.
inline PoolProcess* enter(const Pool& pool, std::int32_t pid) {
  PoolProcess* const all = pool.processes();
  for (std::size_t i = 0; i < kMostProcesses; ++i)
    if (load(all[i].pid) == pid) return &all[i];
  for (std::size_t i = 0; i < kMostProcesses; ++i)
    if (load(all[i].pid) == 0 && claim(all[i].pid, pid)) return &all[i];
  return nullptr;
}

}  // namespace damaris::trace
