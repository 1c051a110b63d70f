#include "recorder/chunk.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "recorder/pool.hpp"
#include "recorder/process_file.hpp"
#include "recorder/real.hpp"

namespace damaris::recorder {

thread_local Thread this_thread;
std::uint64_t unrecorded_bytes;
bool has_file;

namespace {

constexpr std::size_t kSlots = trace::kChunkBytes / sizeof(trace::Slot);
constexpr unsigned kMostFree = 4096;
constexpr std::ptrdiff_t kMostAtOnce = 512;  // slots that anybody asks room for, and more

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_key_t at_thread_end;
std::uint32_t threads, holders;  // that have had a chunk, and that have one
bool recorded, prepared, described;

// Losses are counted here and in the head of the process's first chunk in its file; chunks of a pool are given away, each with the counts.
trace::ChunkHead* counted_in;
std::uint64_t lost_chunks, lost_slots;
// Chunks in memory, for which the file system had no room.
constexpr unsigned kMostHomeless = 256;
Thread* homeless[kMostHomeless];

// Chunks of threads that have ended; the next thread goes on with one, and so with its number.
struct Free {
  trace::Slot *chunk, *next;
} free_chunks[kMostFree];
unsigned free_count;

void tell_losses(trace::ChunkHead& head) {
  __atomic_store_n(&head.lost_chunks, __atomic_load_n(&lost_chunks, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
  __atomic_store_n(&head.lost_slots, __atomic_load_n(&lost_slots, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

void lose(std::uint64_t chunks, std::uint64_t slots) {
  __atomic_fetch_add(&lost_chunks, chunks, __ATOMIC_RELAXED);
  __atomic_fetch_add(&lost_slots, slots, __ATOMIC_RELAXED);
  if (counted_in != nullptr) tell_losses(*counted_in);
}

std::uint64_t clock_ns() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

// A signal handler that jumps away would leave the lock locked, or a chunk half appended.
class Undisturbed {
 public:
  Undisturbed() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~Undisturbed() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

std::uint64_t filled(const Thread& thread) { return static_cast<std::uint64_t>(thread.next - thread.chunk - 2); }

trace::Slot* map_in_memory(Thread& thread) {
  void* const chunk = ::mmap(nullptr, trace::kChunkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (chunk == MAP_FAILED) return nullptr;
  lose(1, 0);
  for (Thread*& one : homeless)
    if (one == nullptr) {
      one = &thread;
      break;
    }
  return static_cast<trace::Slot*>(chunk);
}

// Calls that other libraries make after this, at the end of the same thread, attach it anew.
void detach(Thread& thread) {
  const Undisturbed undisturbed;
  ::pthread_mutex_lock(&lock);
  for (Thread*& one : homeless) {
    if (one != &thread) continue;
    lose(0, filled(thread));
    one = nullptr;
    ::munmap(thread.chunk, trace::kChunkBytes);
    thread.chunk = nullptr;
    --holders;
  }
  if (thread.chunk != nullptr) --holders;
  if (thread.chunk != nullptr && free_count < kMostFree) free_chunks[free_count++] = {thread.chunk, thread.next};
  ::pthread_mutex_unlock(&lock);
  thread = Thread{};
}

void begin_chunk(Thread& thread, std::uint32_t number, std::uint32_t sequence) {
  trace::ChunkHead head = {};
  std::memcpy(head.magic, trace::kMagic, sizeof head.magic);
  head.version = trace::kVersion;
  head.bytes = trace::kChunkBytes;
  head.thread = number;
  head.sequence = sequence;
  head.process = process_file::identity();
  head.pid = ::getpid();
  tell_losses(head);
  std::memcpy(thread.chunk, &head, sizeof head);
  thread.next = thread.chunk + 2;
  thread.end = thread.chunk + kSlots;
}

// One in the process's file, else in memory. False: there is no memory either.
bool take_own_chunk(Thread& thread) {
  thread.chunk = static_cast<trace::Slot*>(process_file::map_chunk());
  if (thread.chunk != nullptr && counted_in == nullptr) counted_in = reinterpret_cast<trace::ChunkHead*>(thread.chunk);
  if (thread.chunk == nullptr) thread.chunk = map_in_memory(thread);
  return thread.chunk != nullptr;
}

// At the first call, which may be in the constructor of a library that comes before this one's.
void prepare() {
  if (prepared) return;
  prepared = true;
  ::pthread_key_create(&at_thread_end, [](void* ended) { detach(*static_cast<Thread*>(ended)); });
  ::pthread_atfork(nullptr, nullptr, forget_parent);
  look_up_posix();
  look_up_stdio();
  look_up_special();
  ::dlerror();  // some names are in newer libraries only
}

bool attach_locked(Thread& thread) {
  prepare();
  if (!has_file) recorded = process_file::begin() && (pool::enter() || process_file::open());
  has_file = true;
  if (recorded) ::pthread_setspecific(at_thread_end, &thread);
  return recorded;
}

void take_chunk(Thread& thread) {
  if (free_count > 0) {
    const Free& one = free_chunks[--free_count];
    thread.chunk = one.chunk;
    thread.next = one.next;
    thread.end = thread.chunk + kSlots;
    ++holders;
    return;
  }
  thread.chunk = static_cast<trace::Slot*>(pool::take());
  thread.refused = thread.chunk == nullptr && !take_own_chunk(thread);
  if (thread.refused) return;
  begin_chunk(thread, threads++, 0);
  ++holders;
}

// A chunk that is mapped from the file, or in memory, is used again.
void copy_chunk(Thread& thread) {
  auto* const head = reinterpret_cast<trace::ChunkHead*>(thread.chunk);
  const bool written = process_file::append(thread.chunk);
  if (!written) lose(1, filled(thread));
  // Emptied before its number changes: a reader takes the fuller one of two chunks with the same number.
  std::memset(thread.chunk + 2, 0, trace::kChunkBytes - sizeof *head);
  __atomic_store_n(&head->sequence, head->sequence + 1, __ATOMIC_RELEASE);
  thread.next = thread.chunk + 2;
}

void exchange_chunk(Thread& thread) {
  auto* const head = reinterpret_cast<trace::ChunkHead*>(thread.chunk);
  const std::uint32_t number = head->thread, sequence = head->sequence + 1;
  tell_losses(*head);
  thread.chunk = static_cast<trace::Slot*>(pool::next_for(thread.chunk, process_file::append));
  if (thread.chunk == nullptr) {
    ::pthread_mutex_lock(&lock);
    thread.refused = !take_own_chunk(thread);
    if (thread.refused) --holders;
    ::pthread_mutex_unlock(&lock);
  }
  if (thread.refused)
    thread.next = thread.end = nullptr;
  else
    begin_chunk(thread, number, sequence);
}

void flush(Thread& thread) {
  const std::uint64_t begin = clock_ns();
  if (pool::has(thread.chunk))
    exchange_chunk(thread);
  else
    copy_chunk(thread);
  if (thread.flush_ns == 0) thread.flush_begin = begin;
  thread.flush_ns += clock_ns() - begin;
}

// The process is at its end: what its chunks in the pool have is stored when this returns, or the server has it.
void give_back(Thread& thread) {
  const bool is_alone = holders == (thread.chunk != nullptr ? 1 : 0);
  auto* const own = pool::has(thread.chunk) ? thread.chunk : nullptr;
  for (unsigned i = 0; i < free_count;) {
    if (!pool::has(free_chunks[i].chunk)) {
      ++i;
      continue;
    }
    pool::give_back(free_chunks[i].chunk);
    free_chunks[i] = free_chunks[--free_count];
  }
  if (own != nullptr) {
    tell_losses(*reinterpret_cast<trace::ChunkHead*>(own));
    const void* const quiet = thread.quiet;
    thread = Thread{};  // a later call takes another chunk
    thread.quiet = quiet;
    --holders;
    pool::give_back(own);
  }
  pool::settle(is_alone, process_file::append);
}

__attribute__((constructor)) void start() {
  const Undisturbed undisturbed;
  ::pthread_mutex_lock(&lock);
  prepare();
  ::pthread_mutex_unlock(&lock);
}
__attribute__((destructor)) void finish() { say_last_words("exit"); }

}  // namespace

bool attach(Thread& thread) {
  if (thread.refused || thread.in_vfork) return false;
  const Undisturbed undisturbed;
  const int error = errno;
  thread.quiet = __builtin_frame_address(0);
  ::pthread_mutex_lock(&lock);
  thread.is_attached = attach_locked(thread);
  const bool is_first = thread.is_attached && !described;
  described = described || is_first;
  ::pthread_mutex_unlock(&lock);
  if (is_first) process_file::describe_process();
  thread.refused = thread.refused || !thread.is_attached;
  thread.quiet = nullptr;
  errno = error;
  return !thread.refused;
}

void append_chunk(Thread& thread) {
  if (thread.refused || !thread.is_attached) return;  // not attached: it was forked within this call
  const Undisturbed undisturbed;
  const int error = errno;
  const void* const quiet = thread.quiet;
  thread.quiet = kEverything;
  if (thread.chunk == nullptr) {
    ::pthread_mutex_lock(&lock);
    take_chunk(thread);
    ::pthread_mutex_unlock(&lock);
  }
  if (!thread.refused && thread.end - thread.next <= kMostAtOnce) flush(thread);
  thread.quiet = quiet;
  errno = error;
}

unsigned fill_level(const Thread& thread) {
  return thread.chunk == nullptr ? 0 : static_cast<unsigned>(filled(thread) * 1000 / (kSlots - 2));
}

void put_own(Thread& thread, std::uint16_t function, std::uint64_t begin, std::uint64_t ns, std::uint64_t bytes) {
  trace::Slot* const slot = room_for(thread, 2);
  if (slot == nullptr) return;
  const bool is_long = ns >= trace::kLong;
  slot->begin = begin;
  slot->depth = static_cast<std::uint8_t>(thread.depth == 0 ? 0 : thread.depth <= 255 ? thread.depth - 1 : 255);
  slot->flags = is_long ? trace::has_more : 0;
  slot->duration = is_long ? trace::kLong : static_cast<std::uint32_t>(ns);
  slot->bytes = static_cast<std::uint32_t>(bytes);
  slot->place = trace::kNowhere;
  if (is_long) {
    slot[1].begin = ns;
    slot[1].place = static_cast<std::int64_t>(bytes);
    slot[1].function = trace::more;
  }
  __atomic_store_n(&slot->function, function, __ATOMIC_RELEASE);
  thread.next += is_long ? 2 : 1;
}

void put_flush(Thread& thread) {
  const std::uint64_t begin = thread.flush_begin, ns = thread.flush_ns;
  thread.flush_ns = 0;
  put_own(thread, trace::kFlush, begin, ns, trace::kChunkBytes);
}

void flush_now(Thread& thread) {
  if (thread.refused || thread.chunk == nullptr || filled(thread) == 0) return;
  {
    const Undisturbed undisturbed;
    flush(thread);
  }
  put_flush(thread);
}

void put_text(const TextHead& head, const char* text, std::size_t bytes) {
  Thread& thread = this_thread;
  const std::size_t slots = (bytes + sizeof(trace::Slot) - 1) / sizeof(trace::Slot);
  trace::Slot* const slot = room_for(thread, slots + 1);
  if (slot == nullptr) return;
  std::memcpy(slot + 1, text, bytes);
  slot->begin = head.begin;
  slot->flags = head.what;
  slot->depth = 0;
  slot->object = head.object;
  slot->bytes = static_cast<std::uint32_t>(bytes);
  slot->place = head.place;
  __atomic_store_n(&slot->function, std::uint16_t{trace::text}, __ATOMIC_RELEASE);
  thread.next += slots + 1;
}

void put_unobserved(const char* what) {
  Thread& thread = this_thread;
  if (thread.quiet || (!thread.is_attached && !attach(thread))) return;
  char text[1024];
  const int length = std::snprintf(text, sizeof text, "not observed: %s", what);
  thread.quiet = __builtin_frame_address(0);
  put_text({trace::loss}, text, length < static_cast<int>(sizeof text) ? static_cast<std::size_t>(length) : sizeof text - 1);
  thread.quiet = nullptr;
}

void say_last_words(const char* how) {
  Thread& thread = this_thread;
  // A process without a call leaves no file.
  const Undisturbed undisturbed;
  if (!recorded || thread.in_vfork || (!thread.is_attached && !attach(thread))) return;
  thread.quiet = __builtin_frame_address(0);
  ::pthread_mutex_lock(&lock);
  for (Thread*& one : homeless) {
    if (one != nullptr) lose(0, filled(*one));
    one = nullptr;
  }
  if (counted_in != nullptr) tell_losses(*counted_in);  // two threads may have told theirs in the wrong order
  ::pthread_mutex_unlock(&lock);
  process_file::describe_end(how, unrecorded_bytes);
  // One that becomes another program, or fails to, goes on.
  ::pthread_mutex_lock(&lock);
  if (std::strcmp(how, "exec") != 0 && pool::is_entered()) give_back(thread);
  ::pthread_mutex_unlock(&lock);
  thread.quiet = nullptr;
}

void forget_parent() {
  this_thread = Thread{};
  lock = PTHREAD_MUTEX_INITIALIZER;
  threads = holders = free_count = 0;
  lost_chunks = lost_slots = 0;
  has_file = recorded = described = false;
  counted_in = nullptr;
  std::memset(homeless, 0, sizeof homeless);
  unrecorded_bytes = 0;
  pool::forget_parent();
  process_file::forget_parent();
}

}  // namespace damaris::recorder
