// What is at a path, looked up without being held by a disk that hangs.
// Used by: messages that name a log; any thread, off the hot path.
// Before it: a path. After it: a sentence.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace damaris {

struct FileFacts {
  bool exists = false;
  bool is_regular = false;
  std::uint64_t bytes = 0;
  uid_t link_owner = 0;  // of the path itself; the rest is of what it leads to
};

// Looks by answer_about. Returns nothing if the file system has not answered within `timeout_ms`, or if the process may have no more
// threads.
std::optional<FileFacts> facts_within(const std::string& path, std::int64_t timeout_ms);

}  // namespace damaris
