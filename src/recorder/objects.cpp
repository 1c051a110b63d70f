#include "recorder/objects.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "recorder/call.hpp"

namespace damaris::recorder::objects {
namespace {

constexpr int kDescriptors = 65'536;
std::uint32_t numbers[kDescriptors];  // 0: not met yet
std::uint32_t last_number;

Forgetting* forgettings;

std::uint32_t next_number() { return __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED); }

bool begins(const char* text, const char* part) { return std::strncmp(text, part, std::strlen(part)) == 0; }

// About 1000 calls a rank of a small program are MPI's own, in a folder that its launcher names.
bool is_of_mpi(const char* path) {
  static const char* const folder = ::getenv("PMIX_SERVER_TMPDIR");
  return folder != nullptr && *folder != '\0' && begins(path, folder);
}

bool is_dropped(const char* path) {
  if (path[0] != '/') return true;  // pipe:[1], socket:[2], anon_inode:...
  if (begins(path, "/proc/") || begins(path, "/sys/") || begins(path, "/dev/")) return !begins(path, "/dev/fd/");
  return is_of_mpi(path);
}

std::size_t path_of(int descriptor, char* path, std::size_t room) {
  char link[40];  // /proc/self has no files when the first thread has left
  std::snprintf(link, sizeof link, "/proc/thread-self/fd/%d", descriptor);
  const long got = ::syscall(SYS_readlinkat, AT_FDCWD, link, path, room - 1);
  path[got > 0 ? got : 0] = '\0';
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

// A signal handler may have a small stack: large texts are elsewhere.
std::uint32_t meet(int descriptor) {
  static thread_local char path[PATH_MAX];
  const std::size_t length = path_of(descriptor, path, sizeof path);
  if (length == 0 || is_dropped(path)) return kDropped;
  const std::uint32_t number = next_number();
  const long offset = ::syscall(SYS_lseek, descriptor, 0, SEEK_CUR);
  put_text({trace::path, number, ::syscall(SYS_fcntl, descriptor, F_GETFL), static_cast<std::uint64_t>(offset > 0 ? offset : 0)},
           path, length);
  return number;
}

}  // namespace

std::uint32_t of_descriptor(int descriptor) {
  if (descriptor < 0) return 0;
  if (descriptor >= kDescriptors) return kDropped;
  std::uint32_t number = __atomic_load_n(&numbers[descriptor], __ATOMIC_RELAXED);
  if (__builtin_expect(number == 0, 0)) {
    const int error = errno;
    number = meet(descriptor);
    errno = error;
    __atomic_store_n(&numbers[descriptor], number, __ATOMIC_RELAXED);
  }
  return number;
}

std::uint32_t of_stream(std::FILE* stream) { return stream == nullptr ? 0 : of_descriptor(::fileno_unlocked(stream)); }

std::uint32_t opened(int descriptor) {
  if (descriptor >= 0 && descriptor < kDescriptors) __atomic_store_n(&numbers[descriptor], 0, __ATOMIC_RELAXED);
  return of_descriptor(descriptor);
}

std::uint32_t stream_opened(std::FILE* stream) { return stream == nullptr ? 0 : opened(::fileno_unlocked(stream)); }

std::uint32_t copied(int from, int to) {
  if (to < 0 || to >= kDescriptors) return 0;
  const std::uint32_t number = of_descriptor(from);
  __atomic_store_n(&numbers[to], number, __ATOMIC_RELAXED);
  return number;
}

std::uint32_t leave(int descriptor) {
  const std::uint32_t known = of_descriptor(descriptor);
  if (descriptor >= 0 && descriptor < kDescriptors) __atomic_store_n(&numbers[descriptor], 0, __ATOMIC_RELAXED);
  return known;
}

std::uint32_t leave_stream(std::FILE* stream) { return stream == nullptr ? 0 : leave(::fileno_unlocked(stream)); }

std::uint32_t of_name(const char* name) {
  static thread_local char path[PATH_MAX];
  const char* const colon = std::strchr(name, ':');
  if (::realpath(name, path) == nullptr && (colon == nullptr || ::realpath(colon + 1, path) == nullptr))
    std::snprintf(path, sizeof path, "%s", name);
  const std::uint32_t number = next_number();
  put_text({trace::path, number}, path, std::strlen(path));
  return number;
}

// Of a name that need not exist any more: only its folder is looked up.
bool absolute(int folder, const char* name, char (&path)[PATH_MAX]) {
  static thread_local char joined[PATH_MAX];
  joined[0] = '\0';
  std::size_t length = 0;
  if (name[0] != '/' && folder != AT_FDCWD) {
    length = path_of(folder, joined, sizeof joined);
    if (length == 0) return false;
    joined[length++] = '/';
  }
  if (length + std::strlen(name) >= sizeof joined) return false;
  std::strcpy(joined + length, name);
  char* const slash = std::strrchr(joined, '/');
  const char* const last = slash == nullptr ? name : name + std::strlen(name) - std::strlen(slash + 1);
  if (slash != nullptr) slash[slash == joined ? 1 : 0] = '\0';
  if (::realpath(slash == nullptr ? "." : joined, path) == nullptr) return false;
  length = std::strlen(path);
  return std::snprintf(path + length, sizeof path - length, "%s%s", length == 1 ? "" : "/", last) <
         static_cast<int>(sizeof path - length);
}

std::uint32_t name_now(const char* before, const char* after) {
  const std::uint32_t number = next_number();
  put_text({trace::path, number}, after, std::strlen(after));
  put_text({trace::renamed, number, 0, now_ns()}, before, std::strlen(before));
  return number;
}

std::uint32_t renamed(int from_folder, const char* from, int to_folder, const char* to) {
  static thread_local char before[PATH_MAX], after[PATH_MAX];
  if (!absolute(from_folder, from, before) || !absolute(to_folder, to, after) || is_dropped(after)) return kDropped;
  return name_now(before, after);
}

std::uint32_t removed(int folder, const char* name) {
  static thread_local char before[PATH_MAX], after[PATH_MAX + 16];
  if (!absolute(folder, name, before) || is_dropped(before)) return kDropped;
  std::snprintf(after, sizeof after, "%s (deleted)", before);
  return name_now(before, after);
}

std::uint32_t described(const char* text, std::uint32_t number) {
  if (number == 0) number = next_number();
  put_text({trace::description, number}, text, std::strlen(text));
  return number;
}

void copy_plain(char* to, std::size_t room, const char* name) {
  std::size_t i = 0;
  for (; name[i] != '\0' && i + 1 < room; ++i) to[i] = static_cast<unsigned char>(name[i]) < ' ' ? '?' : name[i];
  to[i] = '\0';
}

void forget_all() {
  std::memset(numbers, 0, sizeof numbers);
  for (const Forgetting* one = forgettings; one != nullptr; one = one->next) one->forget();
}

Forgetting::Forgetting(void (*what)()) : forget(what), next(forgettings) { forgettings = this; }

}  // namespace damaris::recorder::objects
