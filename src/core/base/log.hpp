// The log: warnings and errors, unless <log> in the XML or DAMARIS_LOG sets another level (error, warning, info, debug, off).
// Used by: every folder, any thread; goes to standard error, or to the file of <log file="...">.
#pragma once

#include <string>
#include <string_view>

namespace damaris {

enum class LogLevel { error = 0, warning = 1, info = 2, debug = 3, off = -1 };

// For a static object that says something in its destructor: the log ends after one whose constructor has called this.
void make_log() noexcept;

// The level of a name in the XML or the environment; `warning` for a name that is none.
LogLevel log_level(std::string_view name) noexcept;

// Sets level and target. DAMARIS_LOG, when set, wins over `level`. `who` opens each line ("server 0", "client 3").
void configure_log(LogLevel level, const std::string& file, const std::string& who);
bool log_enabled(LogLevel level) noexcept;
void log_line(LogLevel level, std::string_view text);

}  // namespace damaris
