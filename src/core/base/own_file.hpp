// Opens files at names that other users can foretell: never through a link, never waiting, and only what is this user's own.
// Used by: every process, off the hot path, wherever a file of ours is opened: regions, locks, logs, the spill file, the hdf5 plugin's record.
// Before it: a path made from a name that anybody can guess. After it: a descriptor that nobody else can hold up or exchange.
#pragma once

#include <sys/types.h>

#include <fstream>
#include <string>

namespace damaris {

// Opens `path` as open(2) does, with O_CLOEXEC, but a symbolic link as its last part is refused, a named pipe is not waited for, and what
// is there already has to be a regular file of this user. With O_TRUNC it is emptied after that has been looked at.
// Owns: the caller, the descriptor. Returns: the descriptor, or -1 with errno: EPERM for another user's file, ELOOP for a link, EINVAL
// for what is no regular file, EMLINK for one of several names where `mode` gives others no right, else what open(2) says; nothing has been made or changed then.
int open_own(const std::string& path, int flags, mode_t mode = 0600) noexcept;

// Makes a file of the name `start` and some letters that cannot be foretold; `path` gets the whole name. Returns as open_own.
int make_own(const std::string& start, std::string& path, int flags, mode_t mode);

// For reading what any user may have made, through links too: only a file that is stored, and without waiting for a named pipe's writer.
// Returns: the stream; not open, with errno set, where there is no such file.
std::ifstream open_to_read(const std::string& path);

// Whether it is a regular file whose bytes are stored. Those of /proc, /sys and the like are made up as they are read, which may wait for
// ever, or take something away, such as the kernel's log.
// Returns: false with errno: EISDIR for a folder, else EINVAL.
bool is_stored_file(int descriptor) noexcept;

// Why one of these failed with `error`, as the rest of a sentence: "it belongs to user 1001, not to this one".
std::string why_not_own(const std::string& path, int error);

// Whether anyone but this user and root may put something else at `path`: it or a folder above is writable by everybody, unless that
// folder is sticky and holds an entry of this user or root. Returns the offending path, "" when there is none. What is not there is safe.
std::string replaceable_part(const std::string& path);

}  // namespace damaris
