// The log: warnings and errors, unless <log> in the XML or DAMARIS_LOG sets another level (error, warning, info, debug, off).
// Used by: every folder, any thread; goes to standard error, or to the file of <log file="...">.
#pragma once

#include <string>
#include <string_view>
#include <thread>

namespace damaris {

enum class LogLevel { error = 0, warning = 1, info = 2, debug = 3, off = -1 };

// Call in the constructor of a static object that logs in its destructor, so that the log outlives it.
void make_log() noexcept;

// The level of a name in the XML or the environment; `warning` for an unknown name.
LogLevel log_level(std::string_view name) noexcept;

// Lazy is for a background process, which has no terminal: the file is created with the first line, so a run without messages leaves none.
// Another user's file of that name is left alone: the log is beside it then.
enum class LogFileCreation { immediate, lazy };

// Sets level and target; `file` "": standard error. DAMARIS_LOG, if set, overrides `level`. `process_name`, as "server 0", opens each line.
// Throws Error(DC_E_CONFIG) if a file that is created immediately cannot be opened.
void configure_log(LogLevel level, const std::string& file, const std::string& process_name,
                   LogFileCreation creation = LogFileCreation::immediate);
// Where the lines of this process go: an absolute path, or "standard error"; "" for nowhere. A file may not exist yet.
std::string log_place();
// The place of a log in `file`: its absolute path, "standard error" for "", and "" for /dev/null.
std::string place_of_log_file(const std::string& file);
bool log_enabled(LogLevel level) noexcept;

// While it lives, a thread writes the lines of this process, and log_line() waits for no disk and no terminal. Throws std::system_error if
// the process may have no more threads. The destructor waits until the lines are written.
class LogThread {
 public:
  LogThread();
  ~LogThread();
  LogThread(const LogThread&) = delete;
  LogThread& operator=(const LogThread&) = delete;

 private:
  std::thread thread_;
};

// Writes the line, or blocks, as printf does. Lines that a file does not take are kept and tried again with the next one, up to 1 MiB, then
// counted. In a fork it writes if no thread had the log when the process was forked.
void log_line(LogLevel level, std::string_view text) noexcept;

}  // namespace damaris
