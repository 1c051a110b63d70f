// Which processes count as alive and as visible where /proc hides them or shows their start times by another clock.
#include "core/base/process.hpp"

#include <catch2/catch.hpp>

#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

namespace damaris {
namespace {

enum Outcome { kAsExpected = 0, kWrong = 1, kSkipped = 77 };

// What `work` returns in a process of its own, whose namespaces and rights it may change.
template <class Work>
int outcome_of(Work&& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

void check(int outcome, const char* needs) {
  if (outcome == kSkipped)
    WARN("SKIP: " << needs);
  else
    CHECK(outcome == kAsExpected);
}

bool become_somebody() { return ::setresgid(4242, 4242, 4242) == 0 && ::setresuid(4242, 4242, 4242) == 0; }

// A process that cannot be dumped, such as one that has changed its user, has no entry in /proc for anybody else.
int look_at_hidden() {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return kSkipped;
  if (::mount("proc", "/proc", "proc", 0, "hidepid=2") != 0) return kSkipped;
  int ready[2];
  if (::pipe(ready) != 0) return kSkipped;
  const pid_t hidden = ::fork();
  if (hidden == 0) {
    const bool good = become_somebody() && ::prctl(PR_SET_DUMPABLE, 0) == 0;
    if (::write(ready[1], good ? "y" : "n", 1) == 1) ::pause();
    ::_exit(0);
  }
  char answer = 0;
  if (::read(ready[0], &answer, 1) != 1 || answer != 'y') return kSkipped;
  const int seen = outcome_of([&] {
    if (!become_somebody()) return kSkipped;
    if (::access(("/proc/" + std::to_string(hidden)).c_str(), F_OK) == 0) return kSkipped;
    return is_alive({hidden, 0, 0}) && is_alive({hidden, 12345, 0}) ? kAsExpected : kWrong;
  });
  ::kill(hidden, SIGKILL);
  ::waitpid(hidden, nullptr, 0);
  return seen != kAsExpected ? seen : is_alive({hidden, 0, 0}) ? kWrong : kAsExpected;
}

TEST_CASE("a process that /proc hides is alive until its number is unused", "[unpromised]") {
  check(outcome_of([] {
          if (::unshare(CLONE_NEWNS | CLONE_NEWPID) != 0) return int{kSkipped};
          return outcome_of(look_at_hidden);
        }),
        "to hide processes needs root");
}

TEST_CASE("a process of another time namespace cannot be identified by its start time, and counts as not visible", "[unpromised]") {
  const ProcessId self = this_process();
  CHECK(is_visible(self));
  check(outcome_of([&] {
          if (::unshare(CLONE_NEWTIME) != 0) return int{kSkipped};
          std::ofstream("/proc/self/timens_offsets") << "boottime 100000 0\n";
          return outcome_of([&] {
            if (start_time_of(self.pid) == self.start_time) return kSkipped;
            return is_visible(self) || !is_visible(this_process()) ? kWrong : kAsExpected;
          });
        }),
        "a time namespace needs root and Linux 5.6");
}

}  // namespace
}  // namespace damaris
