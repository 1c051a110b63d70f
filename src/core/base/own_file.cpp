#include "core/base/own_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <list>
#include <mutex>
#include <random>

namespace damaris {
namespace {

constexpr int kSafely = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
constexpr int kTries = 10;  // other processes may create the same names concurrently
constexpr int kMostLinks = 40;
constexpr rlim_t kOurs = 256;
bool is_own_program = false;
constexpr std::uint32_t kPseudoFileSystems[] = {PROC_SUPER_MAGIC,   SYSFS_MAGIC,         DEBUGFS_MAGIC,    TRACEFS_MAGIC,
                                                CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, SECURITYFS_MAGIC, SELINUX_MAGIC,
                                                SMACK_MAGIC,        PSTOREFS_MAGIC,      EFIVARFS_MAGIC,   BPF_FS_MAGIC};

int refuse(int descriptor, int error) noexcept {
  ::close(descriptor);
  errno = error;
  return -1;
}

std::string random_letters() {
  std::random_device source;
  std::string text;
  for (std::uint64_t bits = (std::uint64_t{source()} << 32) | source(); text.size() < 12; bits >>= 5)
    text += "abcdefghijklmnopqrstuvwxyz234567"[bits & 31];
  return text;
}

int error_of(const struct stat& irregular) noexcept { return S_ISDIR(irregular.st_mode) ? EISDIR : EINVAL; }

int accept(int descriptor, int flags) noexcept {
  struct stat info = {};
  if (::fstat(descriptor, &info) != 0) return refuse(descriptor, errno);
  if (!S_ISREG(info.st_mode)) return refuse(descriptor, error_of(info));
  if (info.st_uid != ::geteuid()) return refuse(descriptor, EPERM);
  if ((flags & O_TRUNC) != 0 && ::ftruncate(descriptor, 0) != 0) return refuse(descriptor, errno);
  return descriptor;
}

// The umask may remove even the owner's permissions; a file that cannot be reopened would block the next run.
int keep_for_owner(int made) noexcept {
  struct stat info = {};
  constexpr mode_t kNeeded = S_IRUSR | S_IWUSR;
  if (::fstat(made, &info) == 0 && (info.st_mode & kNeeded) != kNeeded) ::fchmod(made, (info.st_mode & 07777) | kNeeded);
  return made;
}

// Whether any user may replace `entry` in `folder`.
bool anyone_may_replace(const struct stat& entry, const struct stat& folder) noexcept {
  if (!S_ISLNK(entry.st_mode) && !S_ISDIR(entry.st_mode) && (entry.st_mode & S_IWOTH) != 0) return true;
  return (folder.st_mode & S_IWOTH) != 0 &&
         !((folder.st_mode & S_ISVTX) != 0 && (entry.st_uid == 0 || entry.st_uid == ::geteuid()));
}

// "; it belongs to user 1001", or "" for this user's file or none.
std::string whose_if_foreign(const std::string& path) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0 || info.st_uid == ::geteuid()) return "";
  return "; it belongs to user " + std::to_string(info.st_uid);
}

// Descriptors, each plus 1; 0 is free. Atomic, because another thread may fork at any moment.
std::array<std::atomic<int>, 256> entries;

// No fork comes between the opening of a file and its entry.
std::mutex opening;

void before_fork() noexcept { opening.lock(); }
void after_fork() noexcept { opening.unlock(); }
// In the child, which has one thread.
void close_copies() noexcept {
  for (auto& entry : entries)
    if (const int taken = entry.exchange(0); taken > 0) ::close(taken - 1);
  opening.unlock();
}

bool registered() noexcept {
  static const bool done = ::pthread_atfork(before_fork, after_fork, close_copies) == 0;
  return done;
}

}  // namespace

void keep_descriptors_low() noexcept { is_own_program = true; }

int moved_up(int descriptor) noexcept {
  struct rlimit limit = {};
  if (descriptor < 0 || is_own_program || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return descriptor;
  const int high = ::fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(std::min(kOurs, limit.rlim_cur / 2)));
  if (high < 0) return descriptor;
  ::close(descriptor);
  return high;
}

int open_own(const std::string& path, int flags, mode_t mode) noexcept {
  const int rest = (flags & ~(O_CREAT | O_EXCL | O_TRUNC)) | kSafely;
  for (int tries = 0;; ++tries) {
    if ((flags & O_CREAT) != 0) {
      const int made = ::open(path.c_str(), rest | O_CREAT | O_EXCL, mode);
      if (made >= 0) return moved_up(keep_for_owner(made));
      if (errno != EEXIST || (flags & O_EXCL) != 0) return made;
    }
    const int found = ::open(path.c_str(), rest);
    if (found >= 0) return moved_up(accept(found, flags));
    if (errno == ENXIO) errno = EINVAL;  // a pipe without a reader, a socket
    if (errno != ENOENT || (flags & O_CREAT) == 0 || tries == kTries) return -1;
  }
}

int make_own(const std::string& start, std::string& path, int flags, mode_t mode) {
  for (int tries = 0;; ++tries) {
    path = start + random_letters();
    const int made = open_own(path, flags | O_CREAT | O_EXCL, mode);
    if (made >= 0 || errno != EEXIST || tries == kTries) return made;
  }
}

StoredFileReader::StoredFileReader(const std::string& path) noexcept
    : descriptor_(moved_up(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC))) {
  if (descriptor_ >= 0 && !is_stored_file(descriptor_)) descriptor_ = refuse(descriptor_, errno);
}

StoredFileReader::~StoredFileReader() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::ptrdiff_t StoredFileReader::read(void* to, std::size_t bytes, std::uint64_t at) const noexcept {
  ssize_t got = 0;
  do got = ::pread(descriptor_, to, bytes, static_cast<off_t>(at));
  while (got < 0 && errno == EINTR);
  return got;
}

bool is_stored_file(int descriptor) noexcept {
  struct stat info = {};
  struct statfs system = {};
  if (::fstat(descriptor, &info) != 0) return false;
  const bool is_pseudo =
      ::fstatfs(descriptor, &system) == 0 && std::find(std::begin(kPseudoFileSystems), std::end(kPseudoFileSystems),
                                                       static_cast<std::uint32_t>(system.f_type)) != std::end(kPseudoFileSystems);
  if (S_ISREG(info.st_mode) && !is_pseudo) return true;
  errno = error_of(info);
  return false;
}

std::string why_not_read(const std::string& path, int error) {
  if (error == EINVAL || error == EAGAIN) return why_not_own(path, error);
  return std::strerror(error) + whose_if_foreign(path);
}

std::string why_not_own(const std::string& path, int error, const std::string& instead) {
  constexpr int kInTheWay[] = {ELOOP, EINVAL, EAGAIN, EISDIR, EPERM, EACCES, ENXIO};
  struct stat info = {};
  const bool is_in_the_way =
      std::find(std::begin(kInTheWay), std::end(kInTheWay), error) != std::end(kInTheWay) && ::lstat(path.c_str(), &info) == 0;
  if (!is_in_the_way) return why_not_own(path, error);
  const bool is_protected = (error == EPERM || error == EACCES) && S_ISREG(info.st_mode) && info.st_uid == ::geteuid();
  const char* const remedy = is_protected ? "make it writable (chmod u+w, chattr -ia)" : "have it removed";
  return why_not_own(path, error) + "; " + remedy + ", or " + instead;
}

std::string why_not_own(const std::string& path, int error) {
  struct stat info = {};
  const bool seen = ::lstat(path.c_str(), &info) == 0;
  const std::string whose = whose_if_foreign(path);
  if (error == ELOOP && seen && S_ISLNK(info.st_mode))
    return "it is a symbolic link, which may lead to another user's file" + whose;
  if (error == EINVAL && seen && !S_ISREG(info.st_mode)) return "it is not a regular file" + whose;
  if (seen && info.st_uid != ::geteuid() && (error == EPERM || error == EACCES))
    return "it belongs to user " + std::to_string(info.st_uid) + ", not to this one";
  return std::strerror(error) + (error == EISDIR || error == EAGAIN ? whose : "");
}

bool is_kept_for_other(const std::string& path) noexcept try {
  struct stat info = {}, folder = {};
  if (::lstat(path.c_str(), &info) != 0 || info.st_uid == ::geteuid()) return false;
  const std::size_t slash = path.rfind('/');
  const std::string above = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  return ::stat(above.c_str(), &folder) == 0 && (folder.st_mode & S_ISVTX) != 0 && folder.st_uid != ::geteuid();
} catch (...) {
  return false;
}

// Resolves the path component by component as the kernel does, so that each symbolic link on the way is checked too.
std::string replaceable_part(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  const fs::path absolute = fs::absolute(path, unknown);
  std::list<fs::path> left(absolute.begin(), absolute.end());
  fs::path folder;
  for (int links = 0; !left.empty();) {
    const fs::path name = left.front();
    left.pop_front();
    if (name.empty() || name == ".") continue;
    if (name == "/" || name == "..") {
      folder = name == "/" ? name : folder.parent_path();
      continue;
    }
    const fs::path entry = folder / name;
    struct stat info = {}, above = {};
    if (::stat(folder.c_str(), &above) != 0) return entry.string();
    if (::lstat(entry.c_str(), &info) != 0) {  // any user may recreate a missing entry before it is used
      const bool only_trusted = errno == ENOENT && (above.st_mode & S_IWOTH) == 0;
      return only_trusted ? "" : entry.string();
    }
    if (anyone_may_replace(info, above)) return entry.string();
    if (!S_ISLNK(info.st_mode)) {
      folder = entry;
      continue;
    }
    if (++links > kMostLinks) return entry.string();
    const fs::path target = fs::read_symlink(entry, unknown);
    left.insert(left.begin(), target.begin(), target.end());
  }
  return "";
}

int open_closed_in_forks(const std::string& path, int flags) noexcept {
  if (!registered()) return open_own(path, flags);
  const std::lock_guard<std::mutex> no_fork(opening);
  const int descriptor = open_own(path, flags);
  if (descriptor >= 0) close_in_forks(descriptor);
  return descriptor;
}

void close_in_forks(int descriptor) noexcept {
  if (!registered()) return;
  for (auto& entry : entries)
    if (int free = 0; entry.compare_exchange_strong(free, descriptor + 1)) return;
}

void keep_in_forks(int descriptor) noexcept {
  for (auto& entry : entries)
    if (int mine = descriptor + 1; descriptor >= 0 && entry.compare_exchange_strong(mine, 0)) return;
}

}  // namespace damaris
