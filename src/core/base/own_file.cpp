#include "core/base/own_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>

namespace damaris {
namespace {

constexpr int kSafely = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
constexpr int kTries = 10;  // of names that others take meanwhile

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

// Some file systems show another owner than who made the file, such as NFS to root, or a mount for one user: as a new file's shows.
bool is_shown_as_ours(const std::string& path, uid_t owner) noexcept try {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  std::string probe;
  const int descriptor = make_own(folder + ".damaris-owner.", probe, O_RDWR, 0600);
  if (descriptor < 0) return false;
  struct stat made = {};
  const bool same = ::fstat(descriptor, &made) == 0 && made.st_uid == owner;
  ::close(descriptor);
  ::unlink(probe.c_str());
  return same;
} catch (...) {
  return false;
}

int error_of(const struct stat& irregular) noexcept { return S_ISDIR(irregular.st_mode) ? EISDIR : EINVAL; }

int accept(int descriptor, const std::string& path, int flags) noexcept {
  struct stat info = {};
  if (::fstat(descriptor, &info) != 0) return refuse(descriptor, errno);
  if (!S_ISREG(info.st_mode)) return refuse(descriptor, error_of(info));
  if (info.st_uid != ::geteuid() && !is_shown_as_ours(path, info.st_uid)) return refuse(descriptor, EPERM);
  if ((flags & O_TRUNC) != 0 && ::ftruncate(descriptor, 0) != 0) return refuse(descriptor, errno);
  return descriptor;
}

bool is_trusted_owner(uid_t owner) noexcept { return owner == 0 || owner == ::geteuid(); }

// Whether `entry`, in `folder`, can be put there by everybody.
bool anyone_may_replace(const struct stat& entry, const struct stat& folder) noexcept {
  if (!S_ISLNK(entry.st_mode) && !S_ISDIR(entry.st_mode) && (entry.st_mode & S_IWOTH) != 0) return true;
  return (folder.st_mode & S_IWOTH) != 0 && !((folder.st_mode & S_ISVTX) != 0 && is_trusted_owner(entry.st_uid));
}

std::string replaceable_part_of(const std::filesystem::path& absolute) {
  std::filesystem::path folder;
  for (const std::filesystem::path& name : absolute) {
    const std::filesystem::path entry = folder / name;
    struct stat info = {}, above = {};
    if (!folder.empty() && ::lstat(entry.c_str(), &info) == 0 && ::stat(folder.c_str(), &above) == 0 &&
        anyone_may_replace(info, above))
      return entry.string();
    folder = entry;
  }
  return "";
}

}  // namespace

int open_own(const std::string& path, int flags, mode_t mode) noexcept {
  const int rest = (flags & ~(O_CREAT | O_EXCL | O_TRUNC)) | kSafely;
  for (int tries = 0;; ++tries) {
    if ((flags & O_CREAT) != 0) {
      const int made = ::open(path.c_str(), rest | O_CREAT | O_EXCL, mode);
      if (made >= 0 || errno != EEXIST || (flags & O_EXCL) != 0) return made;
    }
    const int found = ::open(path.c_str(), rest);
    if (found >= 0) return accept(found, path, flags);
    if (errno == ENXIO) errno = EINVAL;  // a pipe that nobody reads, a socket
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

std::ifstream open_to_read(const std::string& path) {
  std::ifstream file;
  int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat info = {};
  if (descriptor >= 0 && ::fstat(descriptor, &info) == 0 && !S_ISREG(info.st_mode)) descriptor = refuse(descriptor, error_of(info));
  if (descriptor < 0) {
    const int error = errno;
    file.setstate(std::ios::failbit);
    errno = error;
    return file;
  }
  // The file that was looked at, whatever has its name now.
  file.open("/proc/self/fd/" + std::to_string(descriptor), std::ios::binary);
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return file;
}

std::string why_not_own(const std::string& path, int error) {
  struct stat info = {};
  const bool seen = ::lstat(path.c_str(), &info) == 0;
  if (error == ELOOP && seen && S_ISLNK(info.st_mode)) return "it is a symbolic link, which may lead to somebody else's file";
  if (error == EINVAL && seen && !S_ISREG(info.st_mode)) return "it is no regular file";
  if (seen && info.st_uid != ::geteuid() && (error == EPERM || error == EACCES))
    return "it belongs to user " + std::to_string(info.st_uid) + ", not to this one";
  return std::strerror(error);
}

std::string replaceable_part(const std::string& path) {
  std::error_code gone;
  const std::filesystem::path absolute = std::filesystem::absolute(path, gone).lexically_normal();
  const std::filesystem::path real = std::filesystem::canonical(path, gone);
  const std::string part = replaceable_part_of(absolute);
  return part.empty() && !gone ? replaceable_part_of(real) : part;
}

}  // namespace damaris
