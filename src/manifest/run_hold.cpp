#include "run_hold.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <thread>

#include "core/base/failure.hpp"
#include "core/base/own_file.hpp"

namespace damaris::manifest {
namespace {

// Locked parts of the file. A member has one of its own behind these.
constexpr long kTurn = 0, kRun = 1, kMembers = 2;
constexpr std::size_t kMostText = 4096;

long byte_of(const std::string& member) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : member) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return kMembers + static_cast<long>(hash >> 2);
}

bool is_taken(int error) { return error == EAGAIN || error == EACCES || error == EINTR; }

std::string lock_path(const std::string& record) {
  const std::size_t name = record.rfind('/') + 1, end = record.rfind('.');
  return record.substr(0, name) + "." + record.substr(name, end - name) + ".lock";
}

std::string text_in(int descriptor) {
  std::string text(kMostText, '\0');
  const ssize_t got = ::pread(descriptor, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

}  // namespace

Error held_record(const std::string& path) {
  return Error(DC_E_NO_OUTPUT,
               "'" + path +
                   "' is the manifest of another run that still goes on, and would be mixed with this one; wait for its end, or "
                   "choose another basename; where this process belongs to that run, set DAMARIS_JOB to one name in all of its "
                   "processes");
}

Error held_member(const std::string& path, const std::string& member) {
  return Error(DC_E_NO_OUTPUT, "'" + path + "' is the manifest of a run in which another process already is '" + member +
                                   "', so that both would write the same files; wait for its end, choose another basename, or give "
                                   "each process an id of its own");
}

RunHold::RunHold(std::string path, std::string run, std::string member, bool shared, std::chrono::milliseconds timeout)
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

// The last one takes the file away. Locks are given back one by one, as a process that was forked from this one may have them open.
RunHold::~RunHold() {
  if (!has_descriptor()) return;
  if (turns_ == 0 && set(kTurn, F_WRLCK) == 0) turns_ = 1;
  if (turns_ > 0 && take_alone() && !is_gone()) ::unlink(path_.c_str());
  for (const long byte : {byte_of(member_), kRun, kTurn}) set(byte, F_UNLCK);
  close();
}

// In place it is the simulation's process, which may close descriptors that it does not know and use their numbers for files of its own.
bool RunHold::has_descriptor() const {
  struct stat facts = {};
  return descriptor_ >= 0 && ::fstat(descriptor_, &facts) == 0 && facts.st_dev == device_ && facts.st_ino == inode_;
}

void RunHold::close() {
  if (has_descriptor()) ::close(descriptor_);
  descriptor_ = -1;
}

// A process that ends removes the file: what was opened may have no name any more when its turn comes.
void RunHold::open() {
  while (true) {
    descriptor_ = open_own(path_, O_RDWR | O_CREAT, 0600);
    if (descriptor_ < 0) throw Failure("cannot open the file of locks " + path_ + ": " + why_not_own(path_, errno), errno);
    struct stat facts = {};
    if (::fstat(descriptor_, &facts) != 0) throw_system_failure(errno, "look at", path_);
    device_ = facts.st_dev;
    inode_ = facts.st_ino;
    if ((facts.st_mode & 077) != 0) ::fchmod(descriptor_, 0600);  // as `chmod -R` of the folder leaves it: any reader could lock it
    take_turn();
    if (!is_gone()) return;
    close();
    turns_ = 0;
  }
}

void RunHold::join() {
  first_ = set(kRun, F_WRLCK) == 0;
  if (!first_ && !is_taken(errno)) {  // a file system without locks
    if (shared_) throw_system_failure(errno, "lock, which processes that share a manifest without MPI need,", path_);
    first_ = true;
    return;
  }
  if (!first_ && (!shared_ || set(kRun, F_RDLCK) != 0 || text_in(descriptor_) != run_)) throw held_record(record_);
  if (set(byte_of(member_), F_WRLCK) != 0) throw held_member(record_, member_);
  if (!first_) return;
  const bool written =
      ::ftruncate(descriptor_, 0) == 0 && ::pwrite(descriptor_, run_.data(), run_.size(), 0) == static_cast<ssize_t>(run_.size());
  if (!written) throw_system_failure(errno, "write to", path_);
  if (shared_) set(kRun, F_RDLCK);  // in one step: nobody else can take it for free
}

bool RunHold::take_alone() { return set(kRun, F_WRLCK) == 0 || !is_taken(errno); }

bool RunHold::is_gone() const {
  struct stat ours = {}, named = {};
  if (::fstat(descriptor_, &ours) != 0 || ours.st_nlink == 0) return true;
  return ::lstat(path_.c_str(), &named) != 0 || named.st_ino != ours.st_ino || named.st_dev != ours.st_dev;
}

void RunHold::take_turn() {
  if (turns_ == 0 && !wait_for(kTurn, F_WRLCK)) throw_held();
  ++turns_;
}

void RunHold::throw_held() const {
  struct stat facts = {};
  if (::fstat(descriptor_, &facts) != 0 || (facts.st_mode & 077) == 0)
    throw_system_failure(ETIMEDOUT, "lock, as another process holds it,", path_);
  ::fchmod(descriptor_, 0600);
  throw Failure("cannot lock " + path_ +
                    ": another process holds it, which may be another user's, as others could read it until now; end what "
                    "'fuser " +
                    path_ + "' names, and share the folder without its hidden files",
                ETIMEDOUT);
}

void RunHold::end_turn() {
  if (turns_ > 0 && --turns_ == 0) set(kTurn, F_UNLCK);
}

int RunHold::set(long byte, short type) const {
  if (!has_descriptor()) return errno = EBADF, -1;
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return ::fcntl(descriptor_, F_OFD_SETLK, &lock);
}

// Asks again until the time is over: a process that was stopped may hold it for ever. A file system without locks has none to wait for.
bool RunHold::wait_for(long byte, short type) const {
  const auto until = std::chrono::steady_clock::now() + timeout_;
  while (set(byte, type) != 0) {
    if (!is_taken(errno)) return true;
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace damaris::manifest
