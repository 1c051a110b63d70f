#include "record_file.hpp"

#include <damaris/error.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "../failure.hpp"
#include "../output_file.hpp"

namespace damaris::hdf5 {
namespace {

std::uint64_t size_of(int descriptor, const std::string& path) {
  struct stat facts = {};
  if (::fstat(descriptor, &facts) != 0) throw_system_failure(errno, "look at", path);
  return static_cast<std::uint64_t>(facts.st_size);
}

// Asks again until `lock` returns 0 or the time is over: a process that was stopped may hold it for ever. A file system without locks
// has none to wait for. Throws Failure.
template <class Lock>
void wait_for(Lock&& lock, std::chrono::milliseconds timeout, const std::string& path) {
  const auto until = std::chrono::steady_clock::now() + timeout;
  while (lock() != 0) {
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) return;
    if (std::chrono::steady_clock::now() > until) throw_system_failure(ETIMEDOUT, "lock, as another process holds it,", path);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Keeps the lines of several processes apart, on file systems whose appends are not: held for one line.
class LineLock {
 public:
  LineLock(int descriptor, std::chrono::milliseconds timeout, const std::string& path) : descriptor_(descriptor) {
    wait_for([&] { return set(F_WRLCK); }, timeout, path);
  }
  ~LineLock() { set(F_UNLCK); }
  LineLock(const LineLock&) = delete;
  LineLock& operator=(const LineLock&) = delete;

 private:
  int set(short type) const {
    struct flock lock = {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_len = 1;
    return ::fcntl(descriptor_, F_OFD_SETLK, &lock);
  }

  int descriptor_;
};

}  // namespace

Error earlier_record(const std::string& path) {
  return Error(DC_E_NO_OUTPUT, "'" + path +
                                   "' is the commit record of an earlier run and exists=\"refuse\"; move its files away, choose " +
                                   "another basename, or say exists=\"overwrite\" or \"append\"");
}

RecordFile::RecordFile(std::string path, Existing existing, bool shared, const RunRecord& run, std::chrono::milliseconds timeout)
    : path_(std::move(path)), timeout_(timeout), descriptor_(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) throw_system_failure(errno, "open the commit record", path_);
  try {
    first_ = be_first(shared);
    if (first_) start(existing, run);
    if (shared) wait_for([&] { return ::flock(descriptor_, LOCK_SH | LOCK_NB); }, timeout_, path_);  // until it is closed
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

void RecordFile::start(Existing existing, const RunRecord& run) {
  if (existing == Existing::refuse && size_of(descriptor_, path_) > 0) throw earlier_record(path_);
  if (existing == Existing::overwrite && ::ftruncate(descriptor_, 0) != 0) throw_system_failure(errno, "empty", path_);
  cut_broken_line();
  append(to_json(run));
  sync_folder_of(path_);
}

RecordFile::~RecordFile() { ::close(descriptor_); }

// The first of a run finds nobody who holds the file; it and all others hold it to their end.
bool RecordFile::be_first(bool shared) const {
  return !shared || ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

// What a process that was killed in the middle of a line left.
void RecordFile::cut_broken_line() {
  std::uint64_t end = size_of(descriptor_, path_);
  for (char last = 0; end > 0; --end)
    if (::pread(descriptor_, &last, 1, static_cast<off_t>(end - 1)) != 1 || last == '\n') break;
  if (::ftruncate(descriptor_, static_cast<off_t>(end)) != 0) throw_system_failure(errno, "shorten", path_);
}

bool RecordFile::is_gone() const {
  struct stat facts = {};
  return ::fstat(descriptor_, &facts) == 0 && facts.st_nlink == 0;
}

void RecordFile::append(const Json& line) {
  const std::string text = line.dump() + "\n";
  const LineLock lock(descriptor_, timeout_, path_);
  if (is_gone()) throw_system_failure(ENOENT, "add to the commit record", path_);
  const std::uint64_t before = size_of(descriptor_, path_);
  const ssize_t written = ::write(descriptor_, text.data(), text.size());
  const int error = written < 0 ? errno : written < static_cast<ssize_t>(text.size()) ? ENOSPC : 0;
  if (error == 0 && ::fdatasync(descriptor_) == 0) return;
  const int cause = error != 0 ? error : errno;
  if (::ftruncate(descriptor_, static_cast<off_t>(before)) != 0) throw_system_failure(errno, "shorten", path_);
  throw_system_failure(cause, "write to", path_);
}

}  // namespace damaris::hdf5
