#include "recorder/chunk.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "recorder/objects.hpp"

extern char** environ;

namespace damaris::recorder {

thread_local Thread this_thread;

namespace {

constexpr std::size_t kSlots = trace::kChunkBytes / sizeof(trace::Slot);

// This process's file. Its descriptor is high, where programs do not look; one that closes it all the same makes it be opened again.
struct File {
  char path[4096];
  int descriptor;
  std::uint64_t process;
  std::uint64_t end;      // bytes
  std::uint32_t threads;
  std::uint64_t lost;     // slots that the disk refused
  bool open, refused;
  pthread_mutex_t lock;
};
File file = {{}, -1, 0, 0, 0, 0, false, false, PTHREAD_MUTEX_INITIALIZER};

std::uint64_t clock_ns(clockid_t clock) {
  timespec now;
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

int open_path(int flags) {
  const long low = ::syscall(SYS_openat, AT_FDCWD, file.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
  if (low < 0) return -1;
  for (const int lowest : {60'000, 900, 200}) {
    const long high = ::syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, lowest);
    if (high < 0) continue;
    ::syscall(SYS_close, low);
    return static_cast<int>(high);
  }
  return static_cast<int>(low);
}

bool open_file() {
  const char* const folder = ::getenv("DAMARIS_RECORDING");
  if (folder == nullptr || *folder == '\0') return false;
  char host[65] = {};
  ::gethostname(host, sizeof host - 1);
  file.process = clock_ns(CLOCK_REALTIME);
  const int length = std::snprintf(file.path, sizeof file.path, "%s/%s.%d.%llu.trace", folder, host, ::getpid(),
                                   static_cast<unsigned long long>(file.process));
  if (length <= 0 || static_cast<std::size_t>(length) >= sizeof file.path) return false;
  file.descriptor = open_path(O_CREAT | O_EXCL);
  file.end = 0;
  file.threads = 0;
  return file.descriptor >= 0;
}

const char* first_of(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* const value = ::getenv(name); value != nullptr && *value != '\0') return value;
  return "";
}

void describe_process(Thread& thread) {
  char text[8192], program[4096] = {};
  if (::syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program, sizeof program - 1) < 0) program[0] = '\0';
  char host[65] = {};
  ::gethostname(host, sizeof host - 1);
  const int length =
      std::snprintf(text, sizeof text, "pid=%d\nparent=%d\nhost=%s\nrank=%s\nranks=%s\nprogram=%s\nmonotonic=%llu\nrealtime=%llu\n",
                    ::getpid(), ::getppid(), host, first_of({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}),
                    first_of({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}), program,
                    static_cast<unsigned long long>(clock_ns(CLOCK_MONOTONIC)),
                    static_cast<unsigned long long>(clock_ns(CLOCK_REALTIME)));
  put_text(thread, trace::process, 0, text, static_cast<std::size_t>(length), 0);
}

// posix_fallocate makes a write into the mapping safe where the disk is full: without it that is SIGBUS.
trace::Slot* map_chunk(std::uint64_t at) {
  void* chunk = MAP_FAILED;
  if (::posix_fallocate(file.descriptor, static_cast<off_t>(at), trace::kChunkBytes) == 0)
    chunk = ::mmap(nullptr, trace::kChunkBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, static_cast<off_t>(at));
  if (chunk == MAP_FAILED) chunk = ::mmap(nullptr, trace::kChunkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return chunk == MAP_FAILED ? nullptr : static_cast<trace::Slot*>(chunk);
}

void begin_chunk(trace::Slot* chunk, std::uint32_t thread) {
  trace::ChunkHead head = {};
  std::memcpy(head.magic, trace::kMagic, sizeof head.magic);
  head.version = trace::kVersion;
  head.bytes = trace::kChunkBytes;
  head.thread = thread;
  head.process = file.process;
  head.tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  std::memcpy(chunk, &head, sizeof head);
}

bool attach_locked(Thread& thread) {
  if (!file.open && !file.refused) {
    file.open = open_file();
    file.refused = !file.open;
  }
  if (!file.open) return false;
  const std::uint64_t at = __atomic_fetch_add(&file.end, trace::kChunkBytes, __ATOMIC_RELAXED);
  thread.chunk = map_chunk(at);
  if (thread.chunk == nullptr) return false;
  const std::uint32_t number = file.threads++;
  begin_chunk(thread.chunk, number);
  thread.next = thread.chunk + 2;
  thread.end = thread.chunk + kSlots;
  if (number == 0) describe_process(thread);
  return true;
}

void forget_parent() {
  this_thread = Thread{};
  if (file.descriptor >= 0) ::syscall(SYS_close, file.descriptor);
  file = {{}, -1, 0, 0, 0, 0, false, false, PTHREAD_MUTEX_INITIALIZER};
  objects::forget_all();
}

bool write_at(std::uint64_t at, const char* bytes, std::size_t left) {
  bool again = true;
  while (left > 0) {
    const long wrote = ::syscall(SYS_pwrite64, file.descriptor, bytes, left, at);
    if (wrote > 0) {
      bytes += wrote;
      at += static_cast<std::uint64_t>(wrote);
      left -= static_cast<std::size_t>(wrote);
    } else if (wrote < 0 && errno == EBADF && again) {
      again = false;
      file.descriptor = open_path(0);
    } else if (wrote >= 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

__attribute__((constructor)) void start() { ::pthread_atfork(nullptr, nullptr, forget_parent); }

}  // namespace

bool attach(Thread& thread) {
  if (thread.refused) return false;
  const int error = errno;
  thread.busy = true;
  ::pthread_mutex_lock(&file.lock);
  thread.refused = !attach_locked(thread);
  ::pthread_mutex_unlock(&file.lock);
  thread.busy = false;
  errno = error;
  return !thread.refused;
}

void append_chunk(Thread& thread) {
  auto* const head = reinterpret_cast<trace::ChunkHead*>(thread.chunk);
  const std::uint64_t at = __atomic_fetch_add(&file.end, trace::kChunkBytes, __ATOMIC_RELAXED);
  const bool written = write_at(at, reinterpret_cast<const char*>(thread.chunk), trace::kChunkBytes);
  const auto slots = static_cast<std::uint64_t>(thread.next - thread.chunk - 2);
  // Emptied before its number changes: a reader takes the fuller one of two chunks with the same number.
  std::memset(thread.chunk + 2, 0, trace::kChunkBytes - sizeof *head);
  __atomic_store_n(&head->sequence, head->sequence + 1, __ATOMIC_RELEASE);
  thread.next = thread.chunk + 2;
  if (written) return;
  constexpr char kWhy[] = "the file system refused a chunk";
  put_text(thread, trace::loss, 0, kWhy, sizeof kWhy - 1, static_cast<std::int64_t>(slots));
}

void put_text(Thread& thread, trace::Text what, std::uint32_t object, const char* text, std::size_t bytes, std::int64_t place) {
  const std::size_t slots = (bytes + sizeof(trace::Slot) - 1) / sizeof(trace::Slot);
  trace::Slot* const slot = room_for(thread, slots + 1);
  if (slot == nullptr) return;
  std::memcpy(slot + 1, text, bytes);
  slot->flags = what;
  slot->object = object;
  slot->bytes = static_cast<std::uint32_t>(bytes);
  slot->place = place;
  __atomic_store_n(&slot->function, std::uint16_t{trace::text}, __ATOMIC_RELEASE);
  thread.next += slots + 1;
}

}  // namespace damaris::recorder
