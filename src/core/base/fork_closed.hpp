// Descriptors whose locks are to end with this process: a fork closes its copies. The kernel keeps a lock of an open file as long as any
// process has a copy, so a child that lives on would make its dead parent look alive, or still at its run.
// Used by: the owners of locked files; any thread.
// Before it: a locked file is opened. After it: its copy in every child of fork() is closed; a program that exec starts has none anyway.
#pragma once

#include <string>

namespace damaris {

// Until keep_in_forks() of the same number. Up to 256 at a time; a descriptor beyond them stays open in forks.
void close_in_forks(int descriptor) noexcept;
// As open_own() of an existing file, and closed in forks from the first moment on. Not for a file on a disk that may hang: a fork waits for it.
int open_closed_in_forks(const std::string& path, int flags) noexcept;
void keep_in_forks(int descriptor) noexcept;

}  // namespace damaris
