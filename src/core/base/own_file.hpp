// Opens files at names that other users can predict: never through a link, never blocking, and only files of this user.
// Used by: every process, off the hot path, for all our files: regions, locks, logs, spill files, the hdf5 plugin's files and manifest.
// Before it: a predictable path. After it: a descriptor of a file that no other user can block or replace.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace damaris {

// Which file it is, by the device and the number that the system gives it: to see later whether a name still leads to it.
class FileIdentity {
 public:
  FileIdentity() = default;  // of no file
  explicit FileIdentity(const struct stat& facts) noexcept : device_(facts.st_dev), inode_(facts.st_ino) {}
  // Whether `facts` are of the same file.
  bool is(const struct stat& facts) const noexcept { return facts.st_dev == device_ && facts.st_ino == inode_; }

 private:
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// For a descriptor that stays open between two calls of the program: moves it to min(256, half of `ulimit -n`) or above, so that a program
// that closes low numbers which it did not open, as daemons do, cannot close ours. Returns the new one, or the same if there is no room.
// keep_descriptors_low() is for our own programs, which never do.
int moved_up(int descriptor) noexcept;
void keep_descriptors_low() noexcept;

// Opens `path` as open(2) does, with O_CLOEXEC, but refuses a symbolic link as its last component, does not block on a named pipe, and
// accepts an existing file only if it is a regular file of this user. O_TRUNC takes effect after these checks.
// Owns: the caller owns the descriptor, which is moved_up(). Returns: the descriptor, or -1 with errno, with nothing created or changed:
// EPERM for another user's file, ELOOP for a symbolic link, EINVAL if not a regular file, otherwise as open(2).
int open_own(const std::string& path, int flags, mode_t mode = 0600) noexcept;

// Creates a file whose name is `start` plus unpredictable letters; stores the full name in `path`. Returns as open_own.
int make_own(const std::string& start, std::string& path, int flags, mode_t mode);

// Reads a file that any user may have created, also through symbolic links. Accepts only regular stored files, and never blocks on a named
// pipe.
class StoredFileReader {
 public:
  // On failure is_open() is false and errno is set.
  explicit StoredFileReader(const std::string& path) noexcept;
  ~StoredFileReader();
  StoredFileReader(const StoredFileReader&) = delete;
  StoredFileReader& operator=(const StoredFileReader&) = delete;

  bool is_open() const noexcept { return descriptor_ >= 0; }
  int descriptor() const noexcept { return descriptor_; }
  // Reads up to `bytes` from offset `at`. Returns the number of bytes read, 0 at the end of the file, -1 with errno.
  std::ptrdiff_t read(void* to, std::size_t bytes, std::uint64_t at) const noexcept;

 private:
  int descriptor_;
};

// True for a regular file whose bytes are stored. The kernel generates the contents of /proc, /sys and the like on read, which may block
// forever, or consume data such as the kernel log.
// Returns: false with errno EISDIR for a folder, else EINVAL.
bool is_stored_file(int descriptor) noexcept;

// Explains `error` of one of these calls, as the rest of a sentence: "it belongs to user 1001, not to this one".
std::string why_not_own(const std::string& path, int error);

// As why_not_own, with the remedy where something is in the way: "...; have it removed, or choose another basename". `instead` is the
// alternative.
std::string why_not_own(const std::string& path, int error, const std::string& instead);

// Explains `error` of opening a file that any user may have made, in order to read it.
std::string why_not_read(const std::string& path, int error);

// True if the entry at `path` belongs to another user and this one can neither replace nor remove it, because its folder is sticky. A
// process with CAP_FOWNER can nevertheless.
bool is_kept_for_other(const std::string& path) noexcept;

// Finds a component of `path` that a user other than this one and root may replace: it or its folder is world-writable, unless the folder
// is sticky and the entry in it belongs to this user or root. Returns the offending path, "" if there is none. A missing entry is safe in a
// folder that is not world-writable.
std::string replaceable_part(const std::string& path);

// For descriptors whose locks are to end with this process: a fork closes its copies; a program that exec starts has none anyway. The
// kernel keeps a lock of an open file as long as any process has a copy, so a child that lives on would make its dead parent look alive, or
// still at its run. Any thread.

// Until keep_in_forks() of the same number. Up to 256 at a time; a descriptor beyond them stays open in forks.
void close_in_forks(int descriptor) noexcept;
// As open_own() of an existing file, and closed in forks from the first moment on. Not for a file on a disk that may hang: a fork waits for it.
int open_closed_in_forks(const std::string& path, int flags) noexcept;
void keep_in_forks(int descriptor) noexcept;

}  // namespace damaris
