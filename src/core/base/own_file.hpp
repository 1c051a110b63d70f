// Opens files at names that other users can predict: never through a link, never waiting, and only files of this user.
// Used by: every process, off the hot path, for every file of ours: regions, locks, logs, spill files, the hdf5 plugin's files and manifest.
// Before it: a path that anybody can guess. After it: a descriptor of a file that no other user can block or exchange.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace damaris {

// Opens `path` as open(2) does, with O_CLOEXEC, but a symbolic link as its last part is refused, a named pipe is not waited for, and what
// is there already has to be a regular file of this user. With O_TRUNC it is emptied after that has been looked at.
// Owns: the caller, the descriptor. Returns: the descriptor, or -1 with errno: EPERM for another user's file, ELOOP for a link, EINVAL
// for what is no regular file, EMLINK for one of several names where `mode` gives others no right, EAGAIN for one with a lease, else what open(2) says; nothing has been made or changed then.
int open_own(const std::string& path, int flags, mode_t mode = 0600) noexcept;

// Makes a file of the name `start` and some letters that cannot be foretold; `path` gets the whole name. Returns as open_own.
int make_own(const std::string& start, std::string& path, int flags, mode_t mode);

// For reading what any user may have made, through links too: only a file that is stored, and without waiting for a named pipe's writer.
class StoredFileReader {
 public:
  // Where there is no such file, is_open() is false and errno says why.
  explicit StoredFileReader(const std::string& path) noexcept;
  ~StoredFileReader();
  StoredFileReader(const StoredFileReader&) = delete;
  StoredFileReader& operator=(const StoredFileReader&) = delete;

  bool is_open() const noexcept { return descriptor_ >= 0; }
  int descriptor() const noexcept { return descriptor_; }
  // Up to `bytes` of what stands from byte `at` on. Returns how many; 0 at the end of the file; -1 with errno.
  std::ptrdiff_t read(void* to, std::size_t bytes, std::uint64_t at) const noexcept;

 private:
  int descriptor_;
};

// Whether it is a regular file whose bytes are stored. Those of /proc, /sys and the like are made up as they are read, which may wait for
// ever, or take something away, such as the kernel's log.
// Returns: false with errno: EISDIR for a folder, else EINVAL.
bool is_stored_file(int descriptor) noexcept;

// Why one of these failed with `error`, as the rest of a sentence: "it belongs to user 1001, not to this one".
std::string why_not_own(const std::string& path, int error);

// Whether anyone but this user and root may put something else at `path`: it or a folder above is writable by everybody, unless that
// folder is sticky and holds an entry of this user or root. Returns the offending path, "" when there is none. What is not there is safe
// in a folder that not everybody can write to.
std::string replaceable_part(const std::string& path);

}  // namespace damaris
