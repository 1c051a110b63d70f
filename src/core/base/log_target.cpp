#include "core/base/log_target.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/answer_about.hpp"
#include "core/base/error.hpp"
#include "core/base/file_identity.hpp"
#include "core/base/format.hpp"
#include "core/base/line_writer.hpp"
#include "core/base/own_file.hpp"
#include "core/base/process_guard.hpp"

namespace damaris {
namespace {

constexpr std::int64_t kOpeningMs = 2'000, kClosingMs = 1'000;

// /dev/stderr, /dev/null or /dev/fd/2, for example. Only root creates entries in these folders; other users may in those below /dev.
bool is_device(const std::string& file) {
  const std::string folder = std::filesystem::path(file).lexically_normal().parent_path().string();
  return folder == "/dev" || folder == "/dev/fd" || folder == "/dev/pts";
}

std::string why_not_opened(const std::string& path, int reason) {
  return is_device(path) && reason == ENXIO ? "no process reads this pipe, or it is a socket" : why_not_own(path, reason);
}

class StandardError final : public LogTarget {
 public:
  void write(std::string_view line) override { writer_.write(STDERR_FILENO, line); }

 private:
  LineWriter writer_;
};

// A program may close descriptors that it did not open, and their numbers may be reused: each line checks the file first, and reopens it
// if necessary.
class LogFile final : public LogTarget {
 public:
  LogFile(std::string path, bool lazy) : path_(std::move(path)), lazy_(lazy) {}
  ~LogFile() override {
    write_pending();
    if (!identity_.has_lost(descriptor_)) ::close(descriptor_);
  }

  void write(std::string_view line) override {
    if (pending_.size() + line.size() <= kMostPendingBytes) pending_.append(line);
    write_pending();
  }

  // Returns 0 or an errno.
  int open() {
    const StdioGuard filled;
    if (!lazy_) make_folder();
    constexpr int kHow = O_WRONLY | O_CREAT | O_APPEND;
    const int mode = lazy_ ? 0644 : 0666;
    constexpr int kDevice = O_CLOEXEC | O_NOCTTY | O_NONBLOCK;  // /dev/stderr may be a named pipe without a reader
    descriptor_ = is_device(path_) ? moved_up(::open(path_.c_str(), kHow | kDevice, mode)) : open_own(path_, kHow, mode);
    if (descriptor_ < 0 && lazy_) open_beside();
    if (descriptor_ < 0) return errno;
    identity_ = FileIdentity(descriptor_);
    if (identity_.holder_of(descriptor_) == Holder::ours) return 0;
    const int reason = errno;
    ::close(std::exchange(descriptor_, -1));
    return reason;
  }
  // Whether its end needs the disk.
  bool is_in_use() const { return descriptor_ >= 0 || !pending_.empty(); }

 private:
  static constexpr std::size_t kMostPendingBytes = std::size_t{64} << 10;

  void make_folder() const {
    std::error_code ignored;  // the subsequent open reports the cause
    const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  }
  // Another user may have planted a file of that name in a shared folder.
  void open_beside() {
    const int reason = errno;
    struct stat planted = {};
    std::string beside;
    if (::lstat(path_.c_str(), &planted) == 0 && planted.st_uid != ::geteuid())
      descriptor_ = make_own(path_ + ".", beside, O_WRONLY | O_APPEND, 0644);
    else
      errno = reason;
  }
  void write_pending() {
    if (pending_.empty()) return;
    const Holder holder = identity_.holder_of(descriptor_);
    if (holder == Holder::unknown || (holder == Holder::other && open() != 0)) return;
    pending_.erase(0, pending_.size() - writer_.write(descriptor_, pending_).size());
  }

  const std::string path_;
  const bool lazy_;
  int descriptor_ = -1;
  FileIdentity identity_;
  std::string pending_;  // buffered while the file cannot be opened or the disk is full
  LineWriter writer_;
};

std::unique_ptr<LogTarget> opened_log_file(const std::string& path) {
  auto file = std::make_unique<LogFile>(path, false);
  if (const int reason = file->open(); reason != 0)
    throw Error(DC_E_CONFIG, format("the log file '{}' cannot be opened: {}; name another one in <log file=\"...\">", path,
                                    why_not_opened(path, reason)));
  return file;
}

}  // namespace

std::unique_ptr<LogTarget> standard_error() { return std::make_unique<StandardError>(); }

bool standard_error_is_file() noexcept {
  struct statx facts = {};
  const int asked = ::statx(STDERR_FILENO, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &facts);
  return asked == 0 && S_ISREG(facts.stx_mode);
}

std::unique_ptr<LogTarget> log_file(const std::string& path) try {
  auto opened = answer_about(path, kOpeningMs, [path] { return opened_log_file(path); });
  return opened ? std::move(*opened) : std::make_unique<LogFile>(path, false);
} catch (const std::system_error&) {  // the process may have no more threads
  return opened_log_file(path);
}

std::unique_ptr<LogTarget> lazy_log_file(const std::string& path) { return std::make_unique<LogFile>(path, true); }

void end_log_target(std::unique_ptr<LogTarget> target) noexcept try {
  const auto* file = dynamic_cast<const LogFile*>(target.get());
  if (file == nullptr || !file->is_in_use()) return;
  answer_within(kClosingMs, [own = std::move(target)]() mutable {
    own.reset();
    return true;
  });
} catch (...) {  // no memory, or no thread: it was closed here
}

}  // namespace damaris
