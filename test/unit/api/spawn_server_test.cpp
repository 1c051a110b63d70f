#include "api/spawn_server.hpp"

#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "support/errors.hpp"
#include "support/temp_folder.hpp"

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

}  // namespace
}  // namespace damaris::api
