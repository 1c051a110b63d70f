// The destination of log lines: standard error, or a file. A line never blocks on a reader for long, and never ends up in another file.
// Used by: log.cpp, any thread, one at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace damaris {

class LogTarget {
 public:
  virtual ~LogTarget() = default;
  // A line that cannot be written is lost, or buffered until it can be: there is no other place to report it.
  virtual void write(std::string_view line) = 0;
};

std::unique_ptr<LogTarget> standard_error();
// Whether standard error is a regular file now, whose disk may hang. Asks no disk for it.
bool standard_error_is_file() noexcept;
// Opens the file now and creates its folder. Throws Error(DC_E_CONFIG) if it cannot be opened. If its file system does not answer within
// 2 s, or has not answered since an earlier question about it, the first line opens it.
std::unique_ptr<LogTarget> log_file(const std::string& path);
// Creates the file with the first line, under a similar name if another user owns a file of that name. Does not create the folder: lines
// are buffered until it exists.
std::unique_ptr<LogTarget> lazy_log_file(const std::string& path);
// Destroys `target`. A file that cannot be closed within a second, because its disk hangs, is left to a thread of its own.
void end_log_target(std::unique_ptr<LogTarget> target) noexcept;

}  // namespace damaris
