#include "api/spawn_server.hpp"

#include <catch2/catch.hpp>

#include <dlfcn.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "support/errors.hpp"
#include "support/temp_folder.hpp"

namespace {
int forks_allowed = -1;  // any number
}

// The library's, unless a case wants it refused: what the code under test calls is looked for in the program first.
extern "C" pid_t fork() {
  static const auto real = reinterpret_cast<pid_t (*)()>(::dlsym(RTLD_NEXT, "fork"));
  if (forks_allowed == 0) {
    errno = EAGAIN;
    return -1;
  }
  if (forks_allowed > 0) --forks_allowed;
  return real();
}

namespace damaris::api {
namespace {

using damaris::test::error_of;
using damaris::test::TempFolder;

// A program in the place of damaris-server, which says nothing and ends by itself.
class SilentServer {
 public:
  SilentServer() {
    const std::string program = folder_.write("silent", "#!/bin/sh\necho $$ > " + folder_.file("pid") + "\nexec sleep 30\n");
    ::chmod(program.c_str(), 0700);
    ::setenv("DAMARIS_SERVER", program.c_str(), 1);
  }
  ~SilentServer() {
    ::unsetenv("DAMARIS_SERVER");
    pid_t pid = 0;
    for (int look = 0; look < 10'000 && !(std::ifstream(folder_.file("pid")) >> pid); ++look) ::usleep(2'000);
    if (pid > 0) ::kill(pid, SIGKILL);
  }

 private:
  TempFolder folder_;
};

// One SIGALRM, not repeated: it interrupts whatever this thread waits in, once.
void alarm_in_ms(long delay_ms) {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  REQUIRE(::sigaction(SIGALRM, &action, nullptr) == 0);
  const itimerval once = {{0, 0}, {0, delay_ms * 1000}};
  REQUIRE(::setitimer(ITIMER_REAL, &once, nullptr) == 0);
}

TEST_CASE("a signal during the wait for a server that says nothing does not take away the time-out") {
  const SilentServer server;
  alarm_in_ms(200);
  const Error error = error_of([] { spawn_server("run.xml", 1, 1000); });
  CHECK(error.code() == DC_E_TIMEOUT);
  CHECK_THAT(error.sentence(), Catch::Contains("is not ready after 1000 ms"));
}

TEST_CASE("where the system gives no process, or only the first of two, the client hears that and where the limit is") {
  const bool reaps_itself = GENERATE(false, true);
  ::signal(SIGCHLD, reaps_itself ? SIG_IGN : SIG_DFL);
  ::setenv("DAMARIS_SERVER", "/bin/true", 1);
  for (const int allowed : {0, 1}) {
    INFO(allowed << " allowed");
    forks_allowed = allowed;
    const Error error = error_of([] { spawn_server("run.xml", 1, 60'000); });
    forks_allowed = -1;
    CHECK(error.code() == DC_E_MEMORY);
    CHECK_THAT(error.sentence(), Catch::StartsWith("cannot start damaris-server: ") && Catch::Contains("ulimit -u"));
  }
  ::unsetenv("DAMARIS_SERVER");
  ::signal(SIGCHLD, SIG_DFL);
}

TEST_CASE("a server's program that cannot be run is named with the reason") {
  ::setenv("DAMARIS_SERVER", "/dev/null", 1);
  const Error error = error_of([] { spawn_server("run.xml", 1, 60'000); });
  ::unsetenv("DAMARIS_SERVER");
  CHECK(error.code() == DC_E_SERVER_LOST);
  CHECK_THAT(error.sentence(), Catch::Contains("/dev/null") && Catch::Contains("Permission denied"));
}

}  // namespace
}  // namespace damaris::api
