#include "core/base/log.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>

#include "core/base/ascii.hpp"
#include "core/base/background_log.hpp"
#include "core/base/borrowed_process.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/late_file_sink.hpp"
#include "core/base/own_file.hpp"

namespace damaris {
namespace {

// The level is read without a lock on every log_enabled; the logger itself only when a line is written.
std::atomic<int> current_level{static_cast<int>(LogLevel::off)};
std::mutex logger_mutex;

std::shared_ptr<spdlog::logger>& current_logger() {
  static std::shared_ptr<spdlog::logger> logger;
  return logger;
}

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

// Such as /dev/stderr, /dev/null or /dev/fd/2: nobody but root makes one there, as in folders below others may.
bool is_device(const std::string& file) {
  const std::string folder = std::filesystem::path(file).lexically_normal().parent_path().string();
  return folder == "/dev" || folder == "/dev/fd" || folder == "/dev/pts";
}

// Writes lines to a descriptor that may be a pipe that nobody reads, or a terminal that is held: a line waits a moment, and is dropped then,
// as the simulation would wait for it. The next ones do not wait until there is room again.
class LineWriter {
 public:
  void write(int descriptor, const spdlog::memory_buf_t& line) {
    constexpr std::size_t kAtOnce = 4096;  // what a pipe that is ready takes
    for (std::size_t done = 0; done < line.size() && is_ready(descriptor);) {
      const ssize_t written = ::write(descriptor, line.data() + done, std::min(line.size() - done, kAtOnce));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return;
      done += static_cast<std::size_t>(written);
    }
  }

 private:
  bool is_ready(int descriptor) {
    constexpr int kPatienceMs = 200;
    pollfd place = {descriptor, POLLOUT, 0};
    const int ready = ::poll(&place, 1, is_stuck_ ? 0 : kPatienceMs);
    is_stuck_ = ready == 0;
    return ready > 0 || (ready < 0 && errno == EINTR);
  }

  bool is_stuck_ = false;
};

class StandardError final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    writer_.write(STDERR_FILENO, line);
  }
  void flush_() override {}

 private:
  LineWriter writer_;
};

// A file that stays the one it is: a program may close descriptors it does not know, and then the number may be another file's, which a
// line must not go into. What cannot be written is lost: there is no other place to say so.
class LogFile final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // Throws Error(DC_E_CONFIG) when it cannot be opened.
  explicit LogFile(const std::string& path) : path_(path) {
    if (const int reason = open(); reason != 0)
      throw Error(DC_E_CONFIG, format("the log file '{}' cannot be opened: {}; name another one in <log file=\"...\">", path,
                                      why_not_own(path, reason)));
  }
  ~LogFile() override {
    if (is_ours()) ::close(descriptor_);
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (!is_ours() && open() != 0) return;
    writer_.write(descriptor_, line);
  }
  void flush_() override {}

 private:
  // Returns 0, or why not.
  int open() {
    const FilledStdio filled;
    std::error_code ignored;  // the open says why
    const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
    constexpr int kHow = O_WRONLY | O_CREAT | O_APPEND;
    descriptor_ = is_device(path_) ? ::open(path_.c_str(), kHow | O_CLOEXEC, 0666) : open_own(path_, kHow, 0666);
    return descriptor_ < 0 || ::fstat(descriptor_, &facts_) != 0 ? errno : 0;
  }
  bool is_ours() const {
    struct stat now = {};
    return descriptor_ >= 0 && ::fstat(descriptor_, &now) == 0 && now.st_dev == facts_.st_dev && now.st_ino == facts_.st_ino;
  }

  const std::string path_;
  int descriptor_ = -1;
  struct stat facts_ = {};
  LineWriter writer_;
};

// Throws as LogFile.
spdlog::sink_ptr make_sink(const std::string& file) {
  if (file.empty()) return std::make_shared<StandardError>();
  return std::make_shared<LogFile>(file);
}

std::shared_ptr<spdlog::logger> make_logger(spdlog::sink_ptr sink, const std::string& who) {
  auto logger = std::make_shared<spdlog::logger>(who, std::move(sink));
  logger->set_pattern("%Y-%m-%d %H:%M:%S.%e damaris %n %l: %v");
  logger->set_level(spdlog::level::trace);
  // Every line at once: what a process says before it is killed is what one wants to read.
  logger->flush_on(spdlog::level::trace);
  return logger;
}

}  // namespace

void make_log() noexcept { (void)current_logger(); }

LogLevel log_level(std::string_view name) noexcept { return level_of(name).value_or(LogLevel::warning); }

namespace {

template <class MakeSink>
void configure(LogLevel level, const std::string& who, MakeSink&& sink) {
  const char* wish = std::getenv("DAMARIS_LOG");
  const bool wished = wish != nullptr && *wish != '\0';
  const auto wished_level = wished ? level_of(wish) : std::nullopt;
  if (wished) level = wished_level.value_or(LogLevel::warning);
  auto logger = level == LogLevel::off ? nullptr : make_logger(sink(), who);
  {
    const std::lock_guard<std::mutex> lock(logger_mutex);
    current_logger() = std::move(logger);
  }
  current_level.store(static_cast<int>(level), std::memory_order_relaxed);
  if (wished && !wished_level)
    log_line(LogLevel::warning,
             format("DAMARIS_LOG='{}' is no level; allowed are off, error, warning, info, debug; warning is used", wish));
}

}  // namespace

void configure_log(LogLevel level, const std::string& file, const std::string& who) {
  configure(level, who, [&] { return make_sink(file); });
}

void configure_background_log(LogLevel level, const std::string& file, const std::string& who) {
  configure(level, who, [&] { return std::make_shared<LateFileSink>(file); });
}

bool log_enabled(LogLevel level) noexcept {
  return level != LogLevel::off && static_cast<int>(level) <= current_level.load(std::memory_order_relaxed);
}

void log_line(LogLevel level, std::string_view text) {
  if (!log_enabled(level)) return;
  std::shared_ptr<spdlog::logger> logger;
  {
    const std::lock_guard<std::mutex> lock(logger_mutex);
    logger = current_logger();
  }
  const QuietSignals quiet;  // standard error may be a pipe that nobody reads
  if (logger) logger->log(spd_level(level), lines_without_controls(std::string(text)));
}

}  // namespace damaris
