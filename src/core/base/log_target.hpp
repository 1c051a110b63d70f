// Where the log's lines go: standard error, or a file. No line makes the process wait for a reader, or ends up in another file.
// Used by: log.cpp, any thread, one at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace damaris {

class LogTarget {
 public:
  virtual ~LogTarget() = default;
  // A line that cannot be written is lost, or kept until it can be: there is no other place to report it.
  virtual void write(std::string_view line) = 0;
};

std::unique_ptr<LogTarget> standard_error();
// The file is opened now; its folder is made. Throws Error(DC_E_CONFIG) when it cannot be opened.
std::unique_ptr<LogTarget> log_file(const std::string& path);
// The file is made with the first line, under a name beside it where the name is another user's. Its folder is not made: lines wait for it.
std::unique_ptr<LogTarget> lazy_log_file(const std::string& path);

}  // namespace damaris
