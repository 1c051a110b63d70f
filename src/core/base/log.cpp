#include "core/base/log.hpp"

#include <fcntl.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/own_file.hpp"

namespace damaris {
namespace {

// The level is read without a lock on every log_enabled; the logger itself only when a line is written.
std::atomic<int> current_level{static_cast<int>(LogLevel::off)};
std::mutex logger_mutex;
std::shared_ptr<spdlog::logger> current_logger;

std::optional<LogLevel> level_of(std::string_view name) {
  if (name == "off") return LogLevel::off;
  if (name == "error") return LogLevel::error;
  if (name == "warning") return LogLevel::warning;
  if (name == "info") return LogLevel::info;
  if (name == "debug") return LogLevel::debug;
  return {};
}

spdlog::level::level_enum spd_level(LogLevel level) {
  switch (level) {
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::off:
      break;
  }
  return spdlog::level::off;
}

// What the program starts must not write there.
void close_on_exec(const spdlog::filename_t&, std::FILE* file) { ::fcntl(::fileno(file), F_SETFD, FD_CLOEXEC); }

// Such as /dev/stderr or /dev/null, which nobody but root makes.
bool is_device(const std::string& file) { return file.rfind("/dev/", 0) == 0 && file.rfind("/dev/shm/", 0) != 0; }

std::shared_ptr<spdlog::logger> make_logger(const std::string& file, const std::string& who) {
  spdlog::sink_ptr sink;
  spdlog::file_event_handlers handlers;
  handlers.after_open = close_on_exec;
  // The logger opens it by name; what stands there then is what was looked at, as only this user may put something else in its place.
  if (const int descriptor = file.empty() || is_device(file) ? 0 : open_own(file, O_WRONLY | O_CREAT | O_APPEND, 0666);
      descriptor < 0)
    throw Error(DC_E_CONFIG, format("the log file '{}' cannot be opened ({}); name another one in <log file=\"...\">", file,
                                    why_not_own(file, errno)));
  else if (descriptor > 0)
    ::close(descriptor);
  try {
    if (file.empty())
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    else
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file, false, handlers);
  } catch (const spdlog::spdlog_ex& failure) {
    throw Error(DC_E_CONFIG,
                format("the log file '{}' cannot be opened ({}); name another one in <log file=\"...\">", file, failure.what()));
  }
  auto logger = std::make_shared<spdlog::logger>(who, std::move(sink));
  logger->set_pattern("%Y-%m-%d %H:%M:%S.%e damaris %n %l: %v");
  logger->set_level(spdlog::level::trace);
  // Every line at once: what a process says before it is killed is what one wants to read.
  logger->flush_on(spdlog::level::trace);
  return logger;
}

}  // namespace

LogLevel log_level(std::string_view name) noexcept { return level_of(name).value_or(LogLevel::warning); }

void configure_log(LogLevel level, const std::string& file, const std::string& who) {
  const char* wish = std::getenv("DAMARIS_LOG");
  const bool wished = wish != nullptr && *wish != '\0';
  const auto wished_level = wished ? level_of(wish) : std::nullopt;
  if (wished) level = wished_level.value_or(LogLevel::warning);
  auto logger = level == LogLevel::off ? nullptr : make_logger(file, who);
  {
    const std::lock_guard<std::mutex> lock(logger_mutex);
    current_logger = std::move(logger);
  }
  current_level.store(static_cast<int>(level), std::memory_order_relaxed);
  if (wished && !wished_level)
    log_line(LogLevel::warning,
             format("DAMARIS_LOG='{}' is no level; allowed are off, error, warning, info, debug; warning is used", wish));
}

bool log_enabled(LogLevel level) noexcept {
  return level != LogLevel::off && static_cast<int>(level) <= current_level.load(std::memory_order_relaxed);
}

void log_line(LogLevel level, std::string_view text) {
  if (!log_enabled(level)) return;
  std::shared_ptr<spdlog::logger> logger;
  {
    const std::lock_guard<std::mutex> lock(logger_mutex);
    logger = current_logger;
  }
  if (logger) logger->log(spd_level(level), spdlog::string_view_t(text.data(), text.size()));
}

}  // namespace damaris
