#include "recorder/process_file.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <stdio_ext.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "recorder/chunk.hpp"
#include "recorder/objects.hpp"

namespace damaris::recorder::process_file {
namespace {

// Its descriptor is high, where programs do not look; one that closes it all the same makes it be opened again.
struct File {
  char path[4096];
  int descriptor;
  dev_t device;
  ino_t inode;
  std::uint64_t identity;
  std::uint64_t end;                    // bytes
  std::uint64_t written;                // bytes that the recorder wrote by system calls
  std::uint64_t before, thread_before;  // what the kernel had counted when it was opened
};
constexpr File kNone = {{}, -1, 0, 0, 0, 0, 0, 0, 0};
File file = kNone;
pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

std::uint64_t clock_ns(clockid_t clock) {
  timespec now;
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

int open_path(int flags) {
  const long low = ::syscall(SYS_openat, AT_FDCWD, file.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
  if (low < 0) return -1;
  for (const int lowest : {60'000, 900, 200, 50, 10}) {
    const long high = ::syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, lowest);
    if (high < 0) continue;
    ::syscall(SYS_close, low);
    return static_cast<int>(high);
  }
  return static_cast<int>(low);
}

const char* first_of(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* const value = ::getenv(name); value != nullptr && *value != '\0') return value;
  return "";
}

bool is_ours(int descriptor) {
  struct stat facts = {};
  return ::fstat(descriptor, &facts) == 0 && facts.st_dev == file.device && facts.st_ino == file.inode;
}

// -1 if the file is gone. The program may have closed the descriptor, and got its number for a file of its own.
int checked_descriptor() {
  if (is_ours(file.descriptor)) return file.descriptor;
  file.descriptor = open_path(0);
  return is_ours(file.descriptor) ? file.descriptor : -1;
}

// A file larger than the process may make is a signal, which ends the program.
bool is_allowed(std::uint64_t bytes) {
  rlimit limit = {};
  return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur;
}

// Bytes given to write calls: by this process and children that it waited for, or by its first thread alone. 0 if the kernel does not say.
std::uint64_t kernel_count(bool of_thread) {
  char path[40] = "/proc/self/io";
  if (of_thread) std::snprintf(path, sizeof path, "/proc/self/task/%d/io", ::getpid());
  const long io = ::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (io < 0) return 0;
  char text[512];
  const long got = ::syscall(SYS_read, io, text, sizeof text - 1);
  ::syscall(SYS_close, io);
  text[got > 0 ? got : 0] = '\0';
  const char* const count = std::strstr(text, "wchar: ");
  return count == nullptr ? 0 : std::strtoull(count + 7, nullptr, 10);
}

// In the buffer of a stream that outlives main, and whether its object is recorded.
std::int64_t waiting_in(std::FILE* stream, bool of_recorded) {
  const bool is_recorded = of_descriptor(::fileno_unlocked(stream)) != kDropped;
  return is_recorded == of_recorded ? static_cast<std::int64_t>(__fpending(stream)) : 0;
}

}  // namespace

bool begin() {
  const char* const folder = ::getenv("DAMARIS_RECORDING");
  if (folder == nullptr || *folder == '\0') return false;
  char host[65] = {};
  ::gethostname(host, sizeof host - 1);
  file.identity = clock_ns(CLOCK_REALTIME);
  const int length = std::snprintf(file.path, sizeof file.path, "%s/%s.%d.%llu.trace", folder, host, ::getpid(),
                                   static_cast<unsigned long long>(file.identity));
  if (length <= 0 || static_cast<std::size_t>(length) >= sizeof file.path) return false;
  file.before = kernel_count(false);
  file.thread_before = kernel_count(true);
  return true;
}

// Threads that save chunks of a dead server come at once.
bool open() {
  ::pthread_mutex_lock(&opening);
  struct stat facts = {};
  if (file.inode == 0) {
    file.descriptor = open_path(O_CREAT | O_EXCL);
    if (::fstat(file.descriptor, &facts) == 0) {
      file.device = facts.st_dev;
      file.inode = facts.st_ino;
    }
  }
  const bool is_open = file.inode != 0;
  ::pthread_mutex_unlock(&opening);
  return is_open;
}

std::uint64_t identity() { return file.identity; }

// posix_fallocate makes a write into the mapping safe where the disk is full: without it that is SIGBUS.
void* map_chunk() {
  if (!open()) return nullptr;
  const std::uint64_t at = __atomic_fetch_add(&file.end, trace::kChunkBytes, __ATOMIC_RELAXED);
  const int descriptor = checked_descriptor();
  if (!is_allowed(at + trace::kChunkBytes) || ::posix_fallocate(descriptor, static_cast<off_t>(at), trace::kChunkBytes) != 0)
    return nullptr;
  void* const chunk = ::mmap(nullptr, trace::kChunkBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, static_cast<off_t>(at));
  return chunk == MAP_FAILED ? nullptr : chunk;
}

bool append(const void* chunk) {
  if (!open()) return false;
  std::uint64_t at = __atomic_fetch_add(&file.end, trace::kChunkBytes, __ATOMIC_RELAXED);
  const int descriptor = checked_descriptor();
  if (!is_allowed(at + trace::kChunkBytes)) return false;
  const char* bytes = static_cast<const char*>(chunk);
  for (std::size_t left = trace::kChunkBytes; left > 0;) {
    const long wrote = ::syscall(SYS_pwrite64, descriptor, bytes, left, at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes += wrote;
    at += static_cast<std::uint64_t>(wrote);
    left -= static_cast<std::size_t>(wrote);
    __atomic_fetch_add(&file.written, static_cast<std::uint64_t>(wrote), __ATOMIC_RELAXED);
  }
  return true;
}

void describe_process() {
  static char text[8192], program[4096];  // once a process; a signal handler may have a small stack
  char host[65] = {};
  if (::syscall(SYS_readlinkat, AT_FDCWD, "/proc/thread-self/exe", program, sizeof program - 1) < 0) program[0] = '\0';
  ::gethostname(host, sizeof host - 1);
  const int length = std::snprintf(
      text, sizeof text, "pid=%d\nparent=%d\nhost=%s\nrank=%s\nranks=%s\nprogram=%s\nmonotonic=%llu\nrealtime=%llu\n", ::getpid(),
      ::getppid(), host, first_of({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}),
      first_of({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}), program,
      static_cast<unsigned long long>(clock_ns(CLOCK_MONOTONIC)), static_cast<unsigned long long>(clock_ns(CLOCK_REALTIME)));
  put_text({trace::process}, text, static_cast<std::size_t>(length));
}

void describe_end(const char* how, std::uint64_t unrecorded) {
  char text[512];
  const std::int64_t dropped = static_cast<std::int64_t>(unrecorded) - waiting_in(stdout, false) - waiting_in(stderr, false);
  char counted[80] = "";
  const std::uint64_t now = kernel_count(false), of_thread = kernel_count(true);
  if (now >= file.before && of_thread >= file.thread_before)
    std::snprintf(counted, sizeof counted, "wchar=%llu\nthread_wchar=%llu\n", static_cast<unsigned long long>(now - file.before),
                  static_cast<unsigned long long>(of_thread - file.thread_before));
  const int length =
      std::snprintf(text, sizeof text, "how=%s\n%sown=%llu\ndropped=%lld\npending=%lld\n", how, counted,
                    static_cast<unsigned long long>(__atomic_load_n(&file.written, __ATOMIC_RELAXED)),
                    static_cast<long long>(dropped), static_cast<long long>(waiting_in(stdout, true) + waiting_in(stderr, true)));
  put_text({trace::end, 0, 0, clock_ns(CLOCK_MONOTONIC)}, text, static_cast<std::size_t>(length));
}

void forget_parent() {
  if (file.descriptor >= 0 && is_ours(file.descriptor)) ::syscall(SYS_close, file.descriptor);
  file = kNone;
  opening = PTHREAD_MUTEX_INITIALIZER;
  objects::forget_all();
}

}  // namespace damaris::recorder::process_file
