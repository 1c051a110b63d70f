#include "recorder/chunk.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "recorder/process_file.hpp"
#include "recorder/real.hpp"

namespace damaris::recorder {

thread_local Thread this_thread;
std::uint64_t unrecorded_bytes;
bool has_file;

namespace {

constexpr std::size_t kSlots = trace::kChunkBytes / sizeof(trace::Slot);
constexpr unsigned kMostFree = 4096;

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_key_t at_thread_end;
std::uint32_t threads;
bool recorded, prepared;

// Where losses are counted: the head of the process's first chunk in its file.
trace::ChunkHead* counted_in;
// Chunks in memory, for which the file system had no room.
constexpr unsigned kMostHomeless = 256;
Thread* homeless[kMostHomeless];

// Chunks of threads that have ended; the next thread goes on with one, and so with its number.
struct Free {
  trace::Slot *chunk, *next;
} free_chunks[kMostFree];
unsigned free_count;

void lose(std::uint64_t chunks, std::uint64_t slots) {
  if (counted_in == nullptr) return;
  __atomic_fetch_add(&counted_in->lost_chunks, chunks, __ATOMIC_RELAXED);
  __atomic_fetch_add(&counted_in->lost_slots, slots, __ATOMIC_RELAXED);
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
  }
  if (thread.chunk != nullptr && free_count < kMostFree) free_chunks[free_count++] = {thread.chunk, thread.next};
  ::pthread_mutex_unlock(&lock);
  thread = Thread{};
}

void begin_chunk(trace::Slot* chunk, std::uint32_t thread) {
  trace::ChunkHead head = {};
  std::memcpy(head.magic, trace::kMagic, sizeof head.magic);
  head.version = trace::kVersion;
  head.bytes = trace::kChunkBytes;
  head.thread = thread;
  head.process = process_file::identity();
  std::memcpy(chunk, &head, sizeof head);
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
  if (!has_file) recorded = process_file::open();
  has_file = true;
  if (!recorded) return false;
  ::pthread_setspecific(at_thread_end, &thread);
  if (free_count > 0) {
    const Free& one = free_chunks[--free_count];
    thread.chunk = one.chunk;
    thread.next = one.next;
    thread.end = thread.chunk + kSlots;
    return true;
  }
  thread.chunk = static_cast<trace::Slot*>(process_file::map_chunk());
  const bool in_file = thread.chunk != nullptr;
  if (!in_file) thread.chunk = map_in_memory(thread);
  if (thread.chunk == nullptr) return false;
  begin_chunk(thread.chunk, threads);
  if (in_file && counted_in == nullptr) counted_in = reinterpret_cast<trace::ChunkHead*>(thread.chunk);
  thread.next = thread.chunk + 2;
  thread.end = thread.chunk + kSlots;
  if (threads++ == 0) process_file::describe_process();
  return true;
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
  thread.refused = !attach_locked(thread);
  ::pthread_mutex_unlock(&lock);
  thread.quiet = nullptr;
  errno = error;
  return !thread.refused;
}

void append_chunk(Thread& thread) {
  const Undisturbed undisturbed;
  auto* const head = reinterpret_cast<trace::ChunkHead*>(thread.chunk);
  const bool written = process_file::append(thread.chunk);
  if (!written) lose(1, filled(thread));
  // Emptied before its number changes: a reader takes the fuller one of two chunks with the same number.
  std::memset(thread.chunk + 2, 0, trace::kChunkBytes - sizeof *head);
  __atomic_store_n(&head->sequence, head->sequence + 1, __ATOMIC_RELEASE);
  thread.next = thread.chunk + 2;
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
  if (thread.quiet || (thread.chunk == nullptr && !attach(thread))) return;
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
  if (!recorded || thread.in_vfork || (thread.chunk == nullptr && !attach(thread))) return;
  thread.quiet = __builtin_frame_address(0);
  ::pthread_mutex_lock(&lock);
  for (Thread*& one : homeless) {
    if (one != nullptr) lose(0, filled(*one));
    one = nullptr;
  }
  ::pthread_mutex_unlock(&lock);
  process_file::describe_end(how, unrecorded_bytes);
  thread.quiet = nullptr;
}

void forget_parent() {
  this_thread = Thread{};
  lock = PTHREAD_MUTEX_INITIALIZER;
  threads = free_count = 0;
  has_file = recorded = false;
  counted_in = nullptr;
  std::memset(homeless, 0, sizeof homeless);
  unrecorded_bytes = 0;
  process_file::forget_parent();
}

}  // namespace damaris::recorder
