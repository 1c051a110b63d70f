#include "core/base/process_guard.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <cerrno>

#include "core/base/failure.hpp"
#include "support/temp_folder.hpp"

using damaris::test::TempFolder;

namespace {

// In a process of its own, which what is tried may cost: its exit status, or 128 + the signal that ended it.
template <class Call>
int in_child(Call&& call) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(call());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void limit(int what, rlim_t value) {
  struct rlimit both = {};
  ::getrlimit(static_cast<__rlimit_resource>(what), &both);
  both.rlim_cur = value;
  ::setrlimit(static_cast<__rlimit_resource>(what), &both);
}

bool holds_back(int signal) {
  sigset_t mask;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return ::sigismember(&mask, signal) == 1;
}

}  // namespace

TEST_CASE("a write beyond the limit of a file's size is an error, and such a write of the program itself still ends it") {
  const TempFolder folder;
  const int ended = in_child([&] {
    const int file = ::open(folder.file("f").c_str(), O_CREAT | O_WRONLY, 0600);
    limit(RLIMIT_FSIZE, 16);
    {
      const damaris::SignalGuard quiet;
      if (::pwrite(file, "x", 1, 100) >= 0 || errno != EFBIG) return 1;
    }
    if (holds_back(SIGXFSZ) || holds_back(SIGPIPE)) return 2;
    return static_cast<int>(::pwrite(file, "x", 1, 100)) + 3;
  });
  CHECK(ended == 128 + SIGXFSZ);
}

TEST_CASE("signals that were blocked or pending before stay so") {
  const int ended = in_child([] {
    sigset_t pipe, pending;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    ::raise(SIGPIPE);
    { const damaris::SignalGuard quiet; }
    ::sigpending(&pending);
    return holds_back(SIGPIPE) && ::sigismember(&pending, SIGPIPE) == 1 && !holds_back(SIGXFSZ) ? 0 : 1;
  });
  CHECK(ended == 0);
}

TEST_CASE("errors that come from a limit name it") {
  CHECK(damaris::text_of_errno(EFBIG) == "File too large (the limit of a file's size, see ulimit -f)");
  CHECK(damaris::text_of_errno(EMFILE).find("ulimit -n") != std::string::npos);
}
