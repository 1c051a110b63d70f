#include "run_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <thread>

#include "core/base/failure.hpp"
#include "core/base/own_file.hpp"
#include "output_folder.hpp"

namespace damaris::manifest {
namespace {

// The locked bytes of the file. Each member locks a further one.
constexpr long kExclusive = 0, kRun = 1, kMembers = 2;
constexpr std::size_t kMaxRunName = 4096;

long byte_of(const std::string& member) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : member) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return kMembers + static_cast<long>(hash >> 2);
}

bool is_taken(int error) { return error == EAGAIN || error == EACCES || error == EINTR; }
// Says nothing about whether the file system has locks: it is away, or the descriptor is closed. Without locks it says ENOLCK, ENOSYS,
// EOPNOTSUPP, EINVAL.
bool is_other(int error) { return error == EIO || error == ESTALE || error == ETIMEDOUT || error == ENOTCONN || error == EBADF; }
bool has_no_locks(int error) { return !is_taken(error) && !is_other(error); }

std::string lock_path(const std::string& record) {
  const std::size_t name = record.rfind('/') + 1, end = record.rfind('.');
  return record.substr(0, name) + "." + record.substr(name, end - name) + ".lock";
}

std::string text_in(int descriptor, const std::string& path) {
  std::string text(kMaxRunName, '\0');
  const ssize_t got = ::pread(descriptor, text.data(), text.size(), 0);
  if (got < 0) throw_system_failure(errno, "read", path);
  text.resize(static_cast<std::size_t>(got));
  return text;
}

}  // namespace

Error locked_by_other_run(const std::string& path) {
  return Error(
      DC_E_NO_OUTPUT,
      "'" + path +
          "' is the manifest of another run, which is still running; wait for its end, or choose another basename; if this "
          "process belongs to that run, set DAMARIS_JOB to the same name in all of its processes");
}

Error locked_by_same_member(const std::string& path, const std::string& member) {
  return Error(
      DC_E_NO_OUTPUT,
      "'" + path + "' is the manifest of a run in which another process is already '" + member +
          "', so both would write the same files; wait for its end, choose another basename, or give each process an id of "
          "its own");
}

Running is_running(const std::string& record) {
  const int descriptor = ::open(lock_path(record).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return errno == ENOENT || errno == ENOTDIR ? Running::no : Running::unknown;
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kRun;
  lock.l_len = 1;
  const bool known = ::fcntl(descriptor, F_OFD_GETLK, &lock) == 0;
  ::close(descriptor);
  return !known ? Running::unknown : lock.l_type == F_UNLCK ? Running::no : Running::yes;
}

RunLock::RunLock(std::string path, std::string run, std::string member, bool shared, std::chrono::milliseconds timeout)
    : record_(std::move(path)),
      path_(lock_path(record_)),
      run_(std::move(run)),
      member_(std::move(member)),
      timeout_(timeout),
      shared_(shared) {
  try {
    open();
    join();
  } catch (...) {
    close();
    throw;
  }
}

// The last process removes the file.
RunLock::~RunLock() {
  if (depth_ == 0 && set(kExclusive, F_WRLCK) == 0) depth_ = 1;
  if (depth_ > 0 && take_alone() && looks() == Look::fine) ::unlink(path_.c_str());
  close();
}

// The locks are released explicitly, because a forked process may have the descriptor open.
void RunLock::close() {
  keep_in_forks(descriptor_);
  for (const long byte : {byte_of(member_), kRun, kExclusive}) set(byte, F_UNLCK);
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

// A process that ends removes the file: the opened file may be unlinked by the time it is locked. Then open it again.
void RunLock::open() {
  const auto until = std::chrono::steady_clock::now() + timeout_;
  for (open_file(); is_gone(); open_file()) {
    close();
    depth_ = 0;
    if (std::chrono::steady_clock::now() > until)
      throw Failure("cannot lock " + path_ +
                        ": it is removed again and again; find out what removes it, or choose a basename in another folder",
                    ETIMEDOUT);
  }
}

void RunLock::open_file() {
  descriptor_ = open_own(path_, O_RDWR | O_CREAT, 0600);
  if (descriptor_ < 0)
    throw Failure("cannot open the lock file " + path_ + ": " + why_not_own(path_, errno, kOtherBasename), errno);
  struct stat facts = {}, named = {};
  if (::fstat(descriptor_, &facts) != 0) throw_system_failure(errno, "look at", path_);
  identity_ = FileIdentity(facts);
  close_in_forks(descriptor_);
  has_name_ = ::lstat(path_.c_str(), &named) != 0 || identity_.is(named);  // is_gone() sees a name that is refused now
  if ((facts.st_mode & 077) != 0)
    ::fchmod(descriptor_, 0600);  // for instance after `chmod -R` of the folder: any reader could lock it
  lock();
}

void RunLock::join() {
  first_ = set(kRun, F_WRLCK) == 0;
  if (!first_ && is_other(errno)) throw_system_failure(errno, "lock", path_);
  if (!first_ && has_no_locks(errno)) {
    if (shared_) throw_system_failure(errno, "lock (required to share a manifest without MPI)", path_);
    first_ = true;
    return;
  }
  if (!first_ && (!shared_ || !try_lock(kRun, F_RDLCK) || text_in(descriptor_, path_) != run_)) throw locked_by_other_run(record_);
  if (!try_lock(byte_of(member_), F_WRLCK)) throw locked_by_same_member(record_, member_);
  if (!first_) return;
  const bool written =
      ::ftruncate(descriptor_, 0) == 0 && ::pwrite(descriptor_, run_.data(), run_.size(), 0) == static_cast<ssize_t>(run_.size());
  if (!written) throw_system_failure(errno, "write to", path_);
  if (shared_) set(kRun, F_RDLCK);  // an atomic downgrade: no other process finds it unlocked
}

bool RunLock::take_alone() { return set(kRun, F_WRLCK) == 0 || has_no_locks(errno); }

// On a file system whose inode numbers differ between path and descriptor, only removal can be detected.
RunLock::Look RunLock::looks() const {
  struct stat facts = {};
  const bool is_named = ::lstat(path_.c_str(), &facts) == 0;
  const int why_not = is_named ? 0 : errno;
  if (why_not == ENOENT || why_not == ENOTDIR || (is_named && has_name_ && !identity_.is(facts))) return Look::gone;
  if (::fstat(descriptor_, &facts) != 0) return Look::refused;
  if (facts.st_nlink == 0) return Look::gone;
  if (is_named) return Look::fine;
  errno = why_not;
  return Look::refused;
}

bool RunLock::is_gone() const {
  const Look look = looks();
  if (look == Look::refused) throw_system_failure(errno, "look at", path_);
  return look == Look::gone;
}

void RunLock::lock() {
  if (depth_ == 0 && !wait_for(kExclusive, F_WRLCK)) throw_locked();
  ++depth_;
}

void RunLock::throw_locked() const {
  struct stat facts = {};
  if (::fstat(descriptor_, &facts) != 0 || (facts.st_mode & 077) == 0)
    throw Failure("cannot lock " + path_ + " within " + std::to_string(timeout_.count()) +
                      " ms: another process holds the lock; if that does not go on, end it: 'fuser " + path_ + "' names it",
                  ETIMEDOUT);
  ::fchmod(descriptor_, 0600);
  throw Failure(
      "cannot lock " + path_ +
          ": another process holds the lock, possibly of another user, as the file was readable until now; end the process that "
          "'fuser " +
          path_ + "' names, and share the folder without its hidden files",
      ETIMEDOUT);
}

void RunLock::unlock() {
  if (depth_ > 0 && --depth_ == 0) set(kExclusive, F_UNLCK);
}

int RunLock::set(long byte, short type) const {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return ::fcntl(descriptor_, F_OFD_SETLK, &lock);
}

// Returns false if another process holds the lock.
bool RunLock::try_lock(long byte, short type) const {
  if (set(byte, type) == 0) return true;
  if (!is_taken(errno)) throw_system_failure(errno, "lock", path_);
  return false;
}

// Polls until the time-out, because a stopped process may hold the lock for ever. Succeeds on a file system without locks.
bool RunLock::wait_for(long byte, short type) const {
  const auto until = std::chrono::steady_clock::now() + timeout_;
  while (set(byte, type) != 0) {
    if (is_other(errno)) throw_system_failure(errno, "lock", path_);
    if (has_no_locks(errno)) return true;
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace damaris::manifest
