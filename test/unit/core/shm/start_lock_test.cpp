#include "core/shm/region_names.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/shm/dead_regions.hpp"
#include "support/errors.hpp"

namespace damaris::shm {
namespace {

using damaris::test::error_of;

std::string path_of(const StartLock& lock) { return "/dev/shm" + lock.name(); }
bool exists(const StartLock& lock) { return ::access(path_of(lock).c_str(), F_OK) == 0; }

TEST_CASE("a start lock has one holder at a time, is this user's alone, and leaves no file") {
  StartLock second("lock");
  {
    StartLock first("lock");
    CHECK(first.try_take());
    CHECK(first.try_take());
    CHECK_FALSE(second.try_take());
    struct stat info = {};
    REQUIRE(::stat(path_of(first).c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    CHECK(first.name() == region_prefix("lock") + "lock");
    StartLock other("another");
    CHECK(other.try_take());
  }
  CHECK_FALSE(exists(second));
  CHECK(second.try_take());
}

TEST_CASE("a start lock stays taken when its process opens and closes the file again") {
  StartLock first("lock"), second("lock");
  REQUIRE(first.try_take());
  ::close(::open(path_of(first).c_str(), O_RDWR | O_CLOEXEC));
  CHECK_FALSE(second.try_take());
  const pid_t child = ::fork();
  if (child == 0) ::_exit(StartLock("lock").try_take() ? 1 : 0);
  int status = 1;
  ::waitpid(child, &status, 0);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("waiting for a start lock ends at the time-out or when asked to stop, and names the file") {
  StartLock holder("lock"), waiting("lock");
  REQUIRE(holder.try_take());
  const Error late = error_of([&] { waiting.take(20); });
  CHECK(late.code() == DC_E_TIMEOUT);
  CHECK_THAT(late.sentence(), Catch::Contains("another start of 'lock' on this node is under way and holds " + path_of(holder)) &&
                                  Catch::Contains("waited 20 ms"));
  const std::atomic<bool> stop{true};
  const Error stopped = error_of([&] { waiting.take(3'600'000, &stop); });
  CHECK_THAT(stopped.sentence(), Catch::Contains(path_of(holder)) && Catch::Contains("asked to stop while waiting"));
}

TEST_CASE("a lock file that a killed holder left does not stop the next one, which removes it") {
  StartLock lock("lock");
  ::close(::open(path_of(lock).c_str(), O_CREAT | O_RDWR, 0600));
  {
    StartLock next("lock");
    CHECK(next.try_take());
  }
  CHECK_FALSE(exists(lock));
}

TEST_CASE("lock files that killed holders left can be removed, held ones stay") {
  StartLock dead("dead"), held("held");
  ::close(::open(path_of(dead).c_str(), O_CREAT | O_RDWR, 0600));
  REQUIRE(held.try_take());
  remove_dead_start_locks();
  CHECK_FALSE(exists(dead));
  CHECK(exists(held));
}

TEST_CASE("a start lock that cannot be created is an error, not a lock") {
  StartLock lock("lock");
  REQUIRE(::mkdir(path_of(lock).c_str(), 0700) == 0);
  const Error error = error_of([&] { lock.try_take(); });
  ::rmdir(path_of(lock).c_str());
  CHECK(error.code() == DC_E_SHM);
  CHECK_THAT(error.sentence(), Catch::Contains("cannot make the start lock " + path_of(lock)));
}

namespace {

// What try_take says where a new tmpfs with these options is mounted at /dev/shm, in a process with a mount namespace of its own; "" where
// none can be made.
std::string refusal_on(unsigned long flags, const char* options) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_there = ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                          ::mount("none", "/dev/shm", "tmpfs", flags, options) == 0;
    std::string said;
    try {
      StartLock lock("lock");
      if (is_there) said = lock.try_take() ? "taken" : "held";
    } catch (const Error& error) {
      said = error.sentence();
    }
    (void)!::write(ends[1], said.data(), said.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  char text[2000];
  const ssize_t length = ::read(ends[0], text, sizeof text);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return std::string(text, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
}

}  // namespace

TEST_CASE("the error of a start lock that cannot be created names the problem of /dev/shm, and gives no useless advice") {
  const std::string full = refusal_on(0, "nr_inodes=1"), fixed = refusal_on(MS_RDONLY, "");
  if (full.empty()) {
    WARN("skipped: only root can mount");
    return;
  }
  CHECK_THAT(full, Catch::Contains("No space left on device") && Catch::Contains("df -i /dev/shm"));
  CHECK_THAT(fixed, Catch::Contains("Read-only file system") && Catch::Contains("mount -o remount,rw /dev/shm"));
  for (const std::string& refusal : {full, fixed}) CHECK_THAT(refusal, !Catch::Contains("DAMARIS_JOB"));
}

TEST_CASE("a start lock that another user has created first is not trusted") {
  if (::geteuid() != 0) {
    WARN("skipped: only root can give a file away");
    return;
  }
  StartLock lock("lock");
  const int file = ::open(path_of(lock).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
  REQUIRE(file >= 0);
  REQUIRE(::fchown(file, 65534, 65534) == 0);
  const Error error = error_of([&] { lock.try_take(); });
  ::close(file);
  ::unlink(path_of(lock).c_str());
  CHECK(error.code() == DC_E_SHM);
  CHECK_THAT(error.sentence(),
             Catch::Contains(path_of(lock)) && (Catch::Contains(" belongs to user 65534") || Catch::Contains("whose")));
}

TEST_CASE("a start lock is not a region") {
  StartLock lock("lock");
  REQUIRE(lock.try_take());
  clear_dead_regions("lock", model::StalePolicy::discard);
  CHECK(exists(lock));
}

}  // namespace
}  // namespace damaris::shm
