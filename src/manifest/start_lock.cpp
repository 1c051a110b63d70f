#include "start_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "core/base/clock.hpp"
#include "core/base/failure.hpp"
#include "core/base/json.hpp"
#include "core/base/own_file.hpp"

namespace damaris::manifest {
namespace {

constexpr std::size_t kMaxBytes = 4096;

int lock_file(int descriptor, short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return ::fcntl(descriptor, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
}

std::optional<Begun> begun_in(int descriptor) try {
  std::string text(kMaxBytes, '\0');
  const ssize_t got = ::pread(descriptor, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  const Json json = Json::parse(text);
  Begun begun;
  begun.identity = json.at("identity").get<std::string>();
  begun.refused = json.value("refused", "");
  read_value(json.at("generation"), begun.log.generation);
  begun.log.host = json.at("host").get<std::string>();
  read_value(json.at("server"), begun.log.server);
  return begun;
} catch (const Json::exception&) {
  return std::nullopt;
}

}  // namespace

// Creates the file: a client of NFS remembers for long that a file was not there.
std::optional<Begun> begun_in(const FileNames& names) {
  const int descriptor = open_own(names.hidden(".lock"), O_RDWR | O_CREAT, 0600);
  if (descriptor < 0) return std::nullopt;
  std::optional<Begun> begun = begun_in(descriptor);
  ::close(descriptor);
  return begun;
}

StartLock::StartLock(const FileNames& names, std::chrono::milliseconds timeout) : path_(names.hidden(".lock")) {
  for (const Deadline deadline = Deadline::after_ms(timeout.count()); !try_lock(); std::this_thread::sleep_for(kLookEvery))
    if (deadline.passed())
      throw Failure("cannot lock " + path_ + " within " + std::to_string(timeout.count()) +
                        " ms: another process that starts holds the lock; if that does not go on, end it: 'fuser " + path_ +
                        "' names it",
                    ETIMEDOUT);
}

// Unlocks first: a child may have the descriptor, too.
StartLock::~StartLock() {
  (void)lock_file(descriptor_, F_UNLCK);
  ::close(descriptor_);
}

std::optional<Begun> StartLock::begun() const { return begun_in(descriptor_); }

void StartLock::name(const Begun& begun) const {
  const std::string text = text_of({{"identity", begun.identity},
                                    {"generation", begun.log.generation},
                                    {"host", begun.log.host},
                                    {"server", begun.log.server},
                                    {"refused", begun.refused.substr(0, kMaxBytes / 2)}});
  if (::ftruncate(descriptor_, 0) != 0 || ::pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    throw_system_failure(errno, "write to", path_);
}

void StartLock::forget(const std::string& identity) const {
  const std::optional<Begun> named = begun();
  if (!named || named->identity == identity) ::unlink(path_.c_str());
}

// The one before may have removed the file that we have opened.
bool StartLock::try_lock() {
  descriptor_ = open_own(path_, O_RDWR | O_CREAT, 0600);
  if (descriptor_ < 0)
    throw Failure("cannot open the lock file " + path_ + ": " + why_not_own(path_, errno, kOtherBasename), errno);
  const int error = lock_file(descriptor_, F_WRLCK);
  const bool is_taken = error == EAGAIN || error == EACCES || error == EINTR;
  has_locks_ = error == 0;
  struct stat ours = {}, named = {};
  if (!is_taken && ::fstat(descriptor_, &ours) == 0 && ::stat(path_.c_str(), &named) == 0 && ours.st_ino == named.st_ino)
    return true;
  ::close(descriptor_);
  return false;
}

}  // namespace damaris::manifest
