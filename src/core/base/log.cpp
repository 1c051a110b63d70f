#include "core/base/log.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>

#include "core/base/ascii.hpp"
#include "core/base/format.hpp"
#include "core/base/log_queue.hpp"
#include "core/base/log_target.hpp"
#include "core/base/process_guard.hpp"

namespace damaris {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"error", "warning", "info", "debug"};

struct Log {
  std::mutex mutex;  // one line at a time
  std::string process_name;
  std::unique_ptr<LogTarget> target;
};

// Read without a lock: only writing a line locks the log.
std::atomic<int> current_level{static_cast<int>(LogLevel::off)};

Log& the_log() {
  static Log log;
  return log;
}

std::optional<LogLevel> level_of(std::string_view name) {
  if (name == "off") return LogLevel::off;
  for (std::size_t level = 0; level < kNames.size(); ++level)
    if (name == kNames[level]) return static_cast<LogLevel>(level);
  return {};
}

// Local time to the millisecond: "2025-03-01 12:00:00.123".
std::string now() {
  const auto clock = std::chrono::system_clock::now();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(clock);
  const std::time_t time = std::chrono::system_clock::to_time_t(seconds);
  std::tm parts = {};
  ::localtime_r(&time, &parts);
  std::array<char, 32> text = {};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return format("{}.{:03}", text.data(), std::chrono::duration_cast<std::chrono::milliseconds>(clock - seconds).count());
}

std::unique_ptr<LogTarget> target_of(const std::string& file, LogFileCreation creation) {
  if (file.empty()) return standard_error();
  return creation == LogFileCreation::immediate ? log_file(file) : lazy_log_file(file);
}

}  // namespace

void make_log() noexcept { (void)the_log(); }

LogLevel log_level(std::string_view name) noexcept { return level_of(name).value_or(LogLevel::warning); }

void configure_log(LogLevel level, const std::string& file, const std::string& process_name, LogFileCreation creation) {
  const char* given = std::getenv("DAMARIS_LOG");
  const std::string wish = given == nullptr ? "" : given;
  if (!wish.empty()) level = log_level(wish);
  auto target = level == LogLevel::off ? nullptr : target_of(file, creation);
  {
    const std::lock_guard<std::mutex> lock(the_log().mutex);
    the_log().process_name = process_name;
    the_log().target.swap(target);
  }
  current_level.store(static_cast<int>(level), std::memory_order_relaxed);
  if (!wish.empty() && !level_of(wish))
    log_line(LogLevel::warning,
             format("DAMARIS_LOG='{}' is not a level; allowed are off, error, warning, info, debug; warning is used", wish));
}

bool log_enabled(LogLevel level) noexcept {
  return level != LogLevel::off && static_cast<int>(level) <= current_level.load(std::memory_order_relaxed);
}

LogThread::LogThread() noexcept try {
  Log& log = the_log();
  const std::lock_guard<std::mutex> lock(log.mutex);
  if (log.target == nullptr || dynamic_cast<LogQueue*>(log.target.get()) != nullptr) return;
  auto queue = std::make_unique<LogQueue>(log.target);
  queue_ = queue.get();
  log.target = std::move(queue);
} catch (...) {
}

LogThread::~LogThread() {
  Log& log = the_log();
  const std::lock_guard<std::mutex> lock(log.mutex);
  if (queue_ == nullptr || log.target.get() != queue_) return;
  if (auto target = queue_->end(1000)) log.target = std::move(target);
}

void log_line(LogLevel level, std::string_view text) noexcept try {
  if (!log_enabled(level)) return;
  const SignalGuard quiet;  // against SIGPIPE: standard error may be a pipe without a reader
  Log& log = the_log();
  const std::lock_guard<std::mutex> lock(log.mutex);
  if (log.target == nullptr) return;
  log.target->write(format("{} damaris {} {}: {}\n", now(), log.process_name, kNames[static_cast<std::size_t>(level)],
                           lines_without_controls(std::string(text))));
} catch (...) {  // no memory for the line: it is lost
}

}  // namespace damaris
