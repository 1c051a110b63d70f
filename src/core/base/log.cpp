#include "core/base/log.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "core/base/answer_about.hpp"
#include "core/base/ascii.hpp"
#include "core/base/creator_process.hpp"
#include "core/base/file.hpp"
#include "core/base/format.hpp"
#include "core/base/log_queue.hpp"
#include "core/base/log_target.hpp"
#include "core/base/process_guard.hpp"

namespace damaris {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"error", "warning", "info", "debug"};

struct Log {
  std::mutex mutex;  // one line at a time
  std::string process_name, place;
  std::unique_ptr<LogTarget> target;
  LogFileCreation creation = LogFileCreation::immediate;
  LogQueue* queue = nullptr;  // the target, if it is one
  bool is_named_file = false, tried_queue = false;
  CreatorProcess creator;
};

constexpr std::int64_t kQueuedLineMs = 200;  // a line in a file is waited for, so that it is there when the call returns
constexpr std::int64_t kLastLinesMs = 1000;  // for what a server has still to write at its end

// Read without a lock: only writing a line locks the log.
std::atomic<int> current_level{static_cast<int>(LogLevel::off)};

// At the exit of the process. A fork leaves the target to its parent. The thread that exits may have interrupted the log, in a signal handler.
void end_log(Log& log) noexcept {
  if (!log.creator.is_this_process() || !log.mutex.try_lock()) return;
  std::unique_ptr<LogTarget> target = std::move(log.target);
  log.queue = nullptr;
  log.mutex.unlock();
  end_log_target(std::move(target));
}

// It outlives all static objects, because threads that a disk holds up may still log.
Log& the_log() {
  alignas(Log) static std::array<std::byte, sizeof(Log)> memory;
  static Log& log = *new (memory.data()) Log;
  static const struct Ender {
    ~Ender() { end_log(log); }
  } ender;
  return log;
}

void begin_queue(Log& log) {
  auto queue = std::make_unique<LogQueue>(log.target, kQueuedLineMs);
  log.queue = queue.get();
  log.target = std::move(queue);
}

void try_begin_queue(Log& log) noexcept try {
  log.tried_queue = true;
  begin_queue(log);
} catch (...) {  // no memory, or no thread: the line may wait for the disk
}

// A file's disk may hang. The thread comes with the first line.
bool needs_queue(const Log& log) noexcept {
  return log.queue == nullptr && !log.tried_queue && (log.is_named_file || standard_error_is_file());
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

// Whether lines go to that file already, and its disk does not take them: to open it again would only take time.
bool is_held_up_at(const Log& log, const std::string& file, LogFileCreation creation) {
  if (log.target == nullptr || !log.is_named_file || file.empty() || log.creation != creation) return false;
  return log.place == place_of_log_file(file) && (is_unanswered(file) || (log.queue != nullptr && !log.queue->flush(0)));
}

bool keep_log(const std::string& file, const std::string& process_name, LogFileCreation creation) {
  Log& log = the_log();
  const std::lock_guard<std::mutex> lock(log.mutex);
  if (!is_held_up_at(log, file, creation)) return false;
  log.process_name = process_name;
  return true;
}

void replace_log(bool is_off, const std::string& file, const std::string& process_name, LogFileCreation creation) {
  auto target = is_off ? nullptr : target_of(file, creation);
  std::string place = target == nullptr ? "" : place_of_log_file(file);
  Log& log = the_log();
  {
    const std::lock_guard<std::mutex> lock(log.mutex);
    log.process_name = process_name;
    log.place = std::move(place);
    log.target.swap(target);
    log.creation = creation;
    log.queue = nullptr;
    log.is_named_file = !file.empty();
    log.tried_queue = false;
  }
  end_log_target(std::move(target));
}

}  // namespace

void make_log() noexcept { (void)the_log(); }

LogLevel log_level(std::string_view name) noexcept { return level_of(name).value_or(LogLevel::warning); }

void configure_log(LogLevel level, const std::string& file, const std::string& process_name, LogFileCreation creation) {
  const char* given = std::getenv("DAMARIS_LOG");
  const std::string wish = given == nullptr ? "" : given;
  if (!wish.empty()) level = log_level(wish);
  const bool is_off = level == LogLevel::off;
  if (is_off || !keep_log(file, process_name, creation)) replace_log(is_off, file, process_name, creation);
  current_level.store(static_cast<int>(level), std::memory_order_relaxed);
  if (!wish.empty() && !level_of(wish))
    log_line(LogLevel::warning,
             format("DAMARIS_LOG='{}' is not a level; allowed are off, error, warning, info, debug; warning is used", wish));
}

std::string place_of_log_file(const std::string& file) {
  if (file.empty()) return "standard error";
  const std::string path = absolute_path(file);
  return path == "/dev/null" ? "" : path;
}

std::string log_place() {
  const std::lock_guard<std::mutex> lock(the_log().mutex);
  return the_log().place;
}

bool log_enabled(LogLevel level) noexcept {
  return level != LogLevel::off && static_cast<int>(level) <= current_level.load(std::memory_order_relaxed);
}

// Not a function-try-block, whose handler would throw the exception again at its end.
LogThread::LogThread() noexcept {
  try {
    Log& log = the_log();
    const std::lock_guard<std::mutex> lock(log.mutex);
    if (log.target == nullptr) return;
    if (log.queue == nullptr) begin_queue(log);
    log.queue->set_wait(0);
  } catch (...) {  // no memory, or no thread
  }
}

LogThread::~LogThread() {
  Log& log = the_log();
  if (!log.creator.is_this_process()) return;
  const std::lock_guard<std::mutex> lock(log.mutex);
  if (log.queue == nullptr) return;
  log.queue->flush(kLastLinesMs);
  log.queue->set_wait(kQueuedLineMs);
}

void log_line(LogLevel level, std::string_view text) noexcept try {
  if (!log_enabled(level)) return;
  const SignalGuard quiet;  // against SIGPIPE: standard error may be a pipe without a reader
  Log& log = the_log();
  std::unique_lock<std::mutex> lock(log.mutex, std::defer_lock);
  if (log.creator.is_this_process())
    lock.lock();
  else if (!lock.try_lock())  // a thread had it when this process was forked, and is not here
    return;
  if (log.target == nullptr) return;
  if (needs_queue(log)) try_begin_queue(log);
  log.target->write(format("{} damaris {} {}: {}\n", now(), log.process_name, kNames[static_cast<std::size_t>(level)],
                           lines_without_controls(std::string(text))));
} catch (...) {  // no memory for the line: it is lost
}

}  // namespace damaris
