#include "core/base/process.hpp"

#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace {

using damaris::CreatorProcess;

// What `look` returns in a process of `fork`'s making.
bool in_child(const std::function<pid_t()>& fork, const std::function<bool()>& look) {
  const pid_t child = fork();
  if (child == 0) ::_exit(look() ? 1 : 0);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

pid_t fork_with_handlers() { return ::fork(); }
// As a library does that wants no handlers to run.
pid_t fork_without_handlers() { return static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }

TEST_CASE("an object belongs to its creator, and not to a fork, however the fork was made") {
  const auto fork = GENERATE(fork_with_handlers, fork_without_handlers);
  const CreatorProcess maker;
  CHECK(maker.is_this_process());
  CHECK_FALSE(in_child(fork, [&] { return maker.is_this_process(); }));
  CHECK(maker.is_this_process());
}

TEST_CASE("what a fork creates is its own, and what it has a copy of never is") {
  const CreatorProcess first;
  CHECK(in_child(fork_with_handlers, [&] {
    const CreatorProcess own;
    return own.is_this_process() && !first.is_this_process();
  }));
  const CreatorProcess second;
  CHECK(in_child(fork_with_handlers, [&] {
    const CreatorProcess own;
    return own.is_this_process() && !second.is_this_process() &&
           !in_child(fork_with_handlers, [&] { return own.is_this_process() || second.is_this_process(); });
  }));
}

TEST_CASE("a copy belongs to the process that created the original") {
  const CreatorProcess maker;
  CHECK_FALSE(in_child(fork_with_handlers, [&] {
    const CreatorProcess own;
    const CreatorProcess copy = maker;
    return copy.is_this_process();
  }));
}

}  // namespace
