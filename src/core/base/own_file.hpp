// Opens files at names that other users can predict: never through a link, never waiting, and only files of this user.
// Used by: every process, off the hot path, for every file of ours: regions, locks, logs, spill files, the hdf5 plugin's files and
// manifest.
// Before it: a path that anybody can guess. After it: a descriptor of a file that no other user can block or exchange.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace damaris {

// Opens `path` as open(2) does, with O_CLOEXEC, but refuses a symbolic link as its last part, does not wait for a named pipe, and accepts
// an existing file only if it is a regular file of this user. O_TRUNC takes effect after these checks.
// Owns: the caller, the descriptor. Returns: the descriptor, or -1 with errno: EPERM for another user's file, ELOOP for a link, EINVAL
// for what is no regular file, EMLINK for a file with several names where `mode` gives others no right, EAGAIN for one with a lease, else
// what open(2) says; nothing has been made or changed then.
int open_own(const std::string& path, int flags, mode_t mode = 0600) noexcept;

// Makes a file whose name is `start` and some unpredictable letters; `path` gets the whole name. Returns as open_own.
int make_own(const std::string& start, std::string& path, int flags, mode_t mode);

// For reading a file that any user may have made, through links too: only a file that is stored, and without waiting for a named pipe's
// writer.
class StoredFileReader {
 public:
  // Where there is no such file, is_open() is false and errno says why.
  explicit StoredFileReader(const std::string& path) noexcept;
  ~StoredFileReader();
  StoredFileReader(const StoredFileReader&) = delete;
  StoredFileReader& operator=(const StoredFileReader&) = delete;

  bool is_open() const noexcept { return descriptor_ >= 0; }
  int descriptor() const noexcept { return descriptor_; }
  // Reads up to `bytes` from offset `at` on. Returns how many; 0 at the end of the file; -1 with errno.
  std::ptrdiff_t read(void* to, std::size_t bytes, std::uint64_t at) const noexcept;

 private:
  int descriptor_;
};

// Whether it is a regular file whose bytes are stored. The kernel generates those of /proc, /sys and the like when they are read, which may
// block for ever, or consume something, such as the kernel's log.
// Returns: false with errno: EISDIR for a folder, else EINVAL.
bool is_stored_file(int descriptor) noexcept;

// The reason for `error` of one of these calls, as the rest of a sentence: "it belongs to user 1001, not to this one".
std::string why_not_own(const std::string& path, int error);

// Whether a user other than this one and root may replace `path`: it or a folder above is world-writable, unless that folder is sticky and
// the entry in it belongs to this user or root. Returns the offending path, "" when there is none. A missing entry is safe in a folder that
// is not world-writable.
std::string replaceable_part(const std::string& path);

}  // namespace damaris
