#include "core/base/process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace damaris {

// Reads fields 3, 20 and 22 of /proc/<pid>/stat. The command in field 2 may contain blanks and parentheses, so parsing starts at the last ')'.
std::optional<ProcessStat> stat_of(std::int32_t pid) noexcept {
  char text[1024];
  std::snprintf(text, sizeof text, "/proc/%d/stat", pid);
  const int file = ::open(text, O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  const ssize_t length = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (length <= 0) return std::nullopt;
  text[length] = '\0';
  const char* rest = std::strrchr(text, ')');
  ProcessStat stat;
  unsigned long long start = 0;
  if (rest == nullptr || std::sscanf(rest + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d %*s %llu",
                                     &stat.state, &stat.threads, &start) != 3)
    return std::nullopt;
  stat.start_time = start;
  return stat;
}

}  // namespace damaris
