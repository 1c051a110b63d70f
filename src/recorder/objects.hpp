// The numbers of objects in the trace: of a file, one for each time that it is opened, or is met first.
// Used by: generated wrappers, any thread, which is quiet.
// Before it: a descriptor or a stream, or what a layer above knows. After it: a text slot about the number.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "recorder/chunk.hpp"

namespace damaris::recorder {

inline bool has_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

// What fopen opens a file with.
inline int flags_of(const char* mode) {
  const int access = std::strchr(mode, '+') != nullptr ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY;
  return access | (mode[0] == 'w' ? O_CREAT | O_TRUNC : mode[0] == 'a' ? O_CREAT | O_APPEND : 0);
}

inline bool is_copy(int command) { return command == F_DUPFD || command == F_DUPFD_CLOEXEC; }

namespace objects {

// kDropped for pipes, sockets, devices, shared memory and files of MPI itself.
std::uint32_t of_descriptor(int descriptor);
std::uint32_t of_stream(std::FILE* stream);
// Of a descriptor that a call has just made; 0 for a negative one.
std::uint32_t opened(int descriptor);
std::uint32_t stream_opened(std::FILE* stream);
std::uint32_t copied(int from, int to);
// Of a descriptor that the call will close.
std::uint32_t leave(int descriptor);
std::uint32_t leave_stream(std::FILE* stream);

// A file that a library above opened by its name; "ufs:" and the like before a name of MPI are left out.
std::uint32_t of_name(const char* name);
// A file has another name now; 0 for one whose calls are not recorded.
std::uint32_t renamed(int from_folder, const char* from, int to_folder, const char* to);
// A name is taken away: what was written under it keeps it, and follows no later file of that name.
std::uint32_t removed(int folder, const char* name);
// `text`: key=value lines, see docs/trace-format.md; of a new number, or once more of `number`.
std::uint32_t described(const char* text, std::uint32_t number = 0);
// `to` holds `name` with ? for control characters, which end lines.
void copy_plain(char* to, std::size_t room, const char* name);

// After a fork: the child's file has none of the numbers.
void forget_all();
// What layers forget at a fork; `forget` is linked with those of other layers.
struct Forgetting {
  explicit Forgetting(void (*forget)());
  void (*forget)();
  Forgetting* next;
};

}  // namespace objects

using namespace objects;

}  // namespace damaris::recorder
