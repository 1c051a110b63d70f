#include "core/shm/start_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string_view>
#include <thread>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/own_file.hpp"
#include "core/shm/region_names.hpp"

namespace damaris::shm {
namespace {

constexpr std::string_view kEnding = ".lock";

// The previous holder may have unlinked the file between our open and our lock: then we have locked a file without a name.
bool is_still_named(int descriptor, const std::string& name) {
  struct stat ours = {}, named = {};
  return ::fstat(descriptor, &ours) == 0 && ::stat(("/dev/shm" + name).c_str(), &named) == 0 && ours.st_ino == named.st_ino;
}

// What helps where the lock cannot be made: against another user's file at its name, or against what is wrong with /dev/shm.
std::string remedy_for(int error, const std::string& path) {
  struct stat info = {};
  const bool is_there = ::lstat(path.c_str(), &info) == 0;
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "remove what is not needed there; 'df -h /dev/shm' and 'df -i /dev/shm' show what is full";
    case EROFS:
      return "have it mounted for writing: mount -o remount,rw /dev/shm";
    case EMFILE:
      return "raise the limit (ulimit -n)";
    case ENFILE:
    case ENOMEM:
      return "start again when the system has more to spare";
    case ENOENT:
    case ENOTDIR:
      return "mount a tmpfs at /dev/shm";
    case EACCES:
      if (is_there) break;
      return "check the permissions of /dev/shm, normally 1777";
    default:
      break;
  }
  return "have it removed, or set DAMARIS_JOB to another name";
}

bool is_start_lock(const std::string& name) {
  return name.size() > kEnding.size() && name.compare(name.size() - kEnding.size(), kEnding.size(), kEnding) == 0;
}

}  // namespace

void remove_dead_start_locks() try {
  for_each_name_of_user([](const std::string& name) {
    if (!is_start_lock(name)) return;
    const int descriptor = open_own("/dev/shm" + name, O_RDWR);
    if (descriptor < 0) return;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && is_still_named(descriptor, name)) ::shm_unlink(name.c_str());
    ::close(descriptor);
  });
} catch (const Error&) {
  // They stay where /dev/shm cannot be listed.
}

StartLock::StartLock(const RunKey& key) : simulation_(key.simulation), name_(region_prefix(key) + "lock") {}

StartLock::~StartLock() {
  if (descriptor_ < 0) return;
  // Before releasing the lock, or the next holder would lose the name.
  if (creator_.is_this_process()) ::shm_unlink(name_.c_str());
  ::close(descriptor_);
}

bool StartLock::try_take() {
  if (descriptor_ >= 0) return true;
  const int descriptor = open_own("/dev/shm" + name_, O_CREAT | O_RDWR, 0600);
  if (descriptor < 0) {
    const int error = errno;
    const std::string path = "/dev/shm" + name_;
    throw Error(DC_E_SHM, format("cannot make the start lock {}: {}; no server of this run can start; {}", path,
                                 why_not_own(path, error), remedy_for(error, path)));
  }
  const int failure = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  if (failure == 0 && is_still_named(descriptor, name_)) {
    descriptor_ = descriptor;
    return true;
  }
  ::close(descriptor);
  if (failure == 0 || failure == EWOULDBLOCK || failure == EINTR) return false;
  throw system_error(DC_E_SHM, format("cannot lock /dev/shm{}", name_), failure, "mount a tmpfs there");
}

void StartLock::take(std::int64_t timeout_ms, const std::atomic<bool>* stop) {
  const Deadline deadline = Deadline::after_ms(timeout_ms);
  while (!try_take()) {
    const bool stopped = stop != nullptr && stop->load(std::memory_order_relaxed);
    if (stopped || deadline.passed()) throw held(stopped ? "asked to stop while waiting" : format("waited {} ms", timeout_ms));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Error StartLock::held(const std::string& how_long) const {
  return Error(
      DC_E_TIMEOUT,
      format("another start of '{}' on this node is under way and holds /dev/shm{} ({}); let it finish, or end the process "
             "that 'fuser /dev/shm{}' names",
             simulation_, name_, how_long, name_));
}

}  // namespace damaris::shm
