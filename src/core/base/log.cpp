#include "core/base/log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/base/format.hpp"
#include "core/base/own_file.hpp"
#include "core/base/process.hpp"
#include "core/base/process_guard.hpp"
#include "core/base/text.hpp"

namespace damaris {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"error", "warning", "info", "debug"};
constexpr std::size_t kMostBytes = std::size_t{1} << 20;

// /dev/stderr, /dev/null or /dev/fd/2, for example. Only root creates entries in these folders; other users may in those below /dev.
bool is_device(const std::string& file) {
  const std::string folder = std::filesystem::path(file).lexically_normal().parent_path().string();
  return folder == "/dev" || folder == "/dev/fd" || folder == "/dev/pts";
}

// Standard error, or a file.
class Target {
 public:
  Target(std::string path, bool lazy) : path_(std::move(path)), lazy_(lazy), descriptor_(path_.empty() ? STDERR_FILENO : -1) {
    if (descriptor_ >= 0 || lazy_) return;
    std::error_code ignored;  // the subsequent open reports the cause
    const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
    if (open()) return;
    throw Error(DC_E_CONFIG, format("the log file '{}' cannot be opened: {}; name another one in <log file=\"...\">", path_,
                                    why_not_own(path_, errno)));
  }
  ~Target() {
    if (!path_.empty() && descriptor_ >= 0) ::close(descriptor_);
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  // Each line by itself, because other processes may write to the same place. Returns the number of bytes that are not to be tried again.
  std::size_t write(std::string_view lines) {
    const SignalGuard quiet;  // against SIGPIPE: standard error may be a pipe without a reader
    std::size_t done = 0;
    while (done < lines.size() && (descriptor_ >= 0 || open())) {
      const std::string_view line = lines.substr(done, lines.find('\n', done) + 1 - done);
      const ssize_t written = ::write(descriptor_, line.data(), line.size());
      if (written > 0)
        done += static_cast<std::size_t>(written);
      else if (written == 0 || errno != EINTR)
        break;
    }
    return path_.empty() ? lines.size() : done;
  }

 private:
  bool open() {
    constexpr int kHow = O_WRONLY | O_CREAT | O_APPEND;
    const int mode = lazy_ ? 0644 : 0666;
    descriptor_ =
        is_device(path_) ? moved_up(::open(path_.c_str(), kHow | O_CLOEXEC | O_NOCTTY, mode)) : open_own(path_, kHow, mode);
    if (descriptor_ < 0 && lazy_) open_beside();
    return descriptor_ >= 0;
  }
  // Another user may have planted a file of that name in a shared folder.
  void open_beside() {
    struct stat planted = {};
    std::string beside;
    if (::lstat(path_.c_str(), &planted) == 0 && planted.st_uid != ::geteuid())
      descriptor_ = make_own(path_ + ".", beside, O_WRONLY | O_APPEND, 0644);
  }

  const std::string path_;  // "": standard error
  const bool lazy_;
  int descriptor_;
};

struct Log {
  std::mutex mutex;
  std::condition_variable changed;
  std::string process_name, place;
  std::unique_ptr<Target> target;  // used by who sets is_writing, without the mutex
  bool is_writing = false, has_thread = false;
  bool is_new = false;   // what is in `lines` has not been tried yet
  std::string lines;     // whole, except for a first one of which a full disk took a part
  std::size_t lost = 0;  // behind them
  CreatorProcess creator;
};

// Read without a lock: only writing a line locks the log.
std::atomic<int> current_level{static_cast<int>(LogLevel::off)};

// Also lines that come meanwhile, of threads that do not wait for this one.
void write_lines(Log& log, std::unique_lock<std::mutex>& lock) {
  while (log.is_new && !log.is_writing && log.target != nullptr) {
    if (log.lost > 0)
      log.lines += format("damaris: {} lines of the log are missing here: it was not written fast enough\n", log.lost);
    const std::string taken = std::exchange(log.lines, {});
    log.lost = 0;
    log.is_new = false;
    log.is_writing = true;
    lock.unlock();
    const std::size_t done = log.target->write(taken);
    lock.lock();
    log.is_writing = false;
    log.changed.notify_all();
    log.lines.insert(0, taken, done);
  }
}

// Waits for who writes, and tries what is left once more.
void write_rest(Log& log, std::unique_lock<std::mutex>& lock) {
  log.changed.wait(lock, [&] { return !log.is_writing; });
  log.is_new = !log.lines.empty();
  write_lines(log, lock);
}

// At the exit of the process. A fork leaves the target to its parent. The thread that exits may have interrupted the log, in a signal handler.
void end_log(Log& log) noexcept try {
  std::unique_lock<std::mutex> lock(log.mutex, std::defer_lock);
  if (!log.creator.is_this_process() || !lock.try_lock() || log.is_writing) return;
  write_rest(log, lock);
  log.target.reset();
} catch (...) {  // no memory
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

// The thread of a LogThread.
void serve_log(Log& log) noexcept {
  block_signals();
  std::unique_lock<std::mutex> lock(log.mutex);
  for (bool goes_on = true; goes_on;) {
    log.changed.wait(lock, [&] { return !log.is_writing && (log.is_new || !log.has_thread); });
    goes_on = log.has_thread;
    try {
      write_lines(log, lock);
    } catch (...) {  // no memory: the lines are lost
    }
  }
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

void replace_log(std::unique_ptr<Target> target, std::string place, const std::string& process_name) {
  Log& log = the_log();
  std::unique_lock<std::mutex> lock(log.mutex);
  write_rest(log, lock);
  log.process_name = process_name;
  log.place = std::move(place);
  log.target = std::move(target);
  log.lines.clear();
}

}  // namespace

void make_log() noexcept { (void)the_log(); }

LogLevel log_level(std::string_view name) noexcept { return level_of(name).value_or(LogLevel::warning); }

void configure_log(LogLevel level, const std::string& file, const std::string& process_name, LogFileCreation creation) {
  const char* given = std::getenv("DAMARIS_LOG");
  const std::string wish = given == nullptr ? "" : given;
  if (!wish.empty()) level = log_level(wish);
  const bool is_off = level == LogLevel::off;
  replace_log(is_off ? nullptr : std::make_unique<Target>(file, creation == LogFileCreation::lazy),
              is_off ? "" : place_of_log_file(file), process_name);
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

LogThread::LogThread() {
  Log& log = the_log();
  const std::lock_guard<std::mutex> lock(log.mutex);
  if (log.target == nullptr) return;
  thread_ = std::thread([&log] { serve_log(log); });
  log.has_thread = true;
}

LogThread::~LogThread() {
  if (!thread_.joinable()) return;
  Log& log = the_log();
  {
    const std::lock_guard<std::mutex> lock(log.mutex);
    log.has_thread = false;
  }
  log.changed.notify_all();
  thread_.join();
}

void log_line(LogLevel level, std::string_view text) noexcept try {
  if (!log_enabled(level)) return;
  Log& log = the_log();
  std::unique_lock<std::mutex> lock(log.mutex, std::defer_lock);
  const bool is_fork = !log.creator.is_this_process();
  if (!is_fork)
    lock.lock();
  else if (!lock.try_lock())  // a thread had it when this process was forked, and is not here
    return;
  if (log.target == nullptr) return;
  const std::string line = format("{} damaris {} {}: {}\n", now(), log.process_name, kNames[static_cast<std::size_t>(level)],
                                  lines_without_controls(std::string(text)));
  if (is_fork) return (void)log.target->write(line);
  if (log.lines.size() + line.size() <= kMostBytes)
    log.lines += line;
  else
    ++log.lost;
  log.is_new = true;
  if (log.has_thread) return log.changed.notify_all();
  write_lines(log, lock);
} catch (...) {  // no memory for the line: it is lost
}

}  // namespace damaris
