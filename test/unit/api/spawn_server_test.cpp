#include "api/attach.hpp"

#include <catch2/catch.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "support/errors.hpp"
#include "support/temp_folder.hpp"

namespace {
int forks_allowed = -1;  // any number
bool has_close_range = true;
}  // namespace

// The library's, or as of a kernel before Linux 5.9.
extern "C" long syscall(long number, ...) noexcept {
  static const auto real = reinterpret_cast<long (*)(long, ...)>(::dlsym(RTLD_NEXT, "syscall"));
  if (number == SYS_close_range && !has_close_range) {
    errno = ENOSYS;
    return -1;
  }
  va_list list;
  va_start(list, number);
  long given[6];
  for (long& argument : given) argument = va_arg(list, long);
  va_end(list);
  return real(number, given[0], given[1], given[2], given[3], given[4], given[5]);
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

TEST_CASE("if the system refuses a process, or the second of two, the client's message says so and names the limit") {
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

// A program in the place of damaris-server.
std::string program(const TempFolder& folder, const std::string& text) {
  std::string path = folder.write("program", "#!/bin/sh\n" + text);
  ::chmod(path.c_str(), 0700);
  ::setenv("DAMARIS_SERVER", path.c_str(), 1);
  return path;
}

TEST_CASE("a server that says more than a server would is not listened to any longer") {
  const TempFolder folder;
  program(folder, "exec yes 'ok? no' >&3\n");
  const Error error = error_of([] { spawn_server("run.xml", 1, 60'000); });
  CHECK(error.code() == DC_E_SERVER_LOST);
  CHECK_THAT(error.sentence(), Catch::Contains(folder.file("program")) && Catch::Contains("more than 64 KiB"));
  ::unsetenv("DAMARIS_SERVER");
}

TEST_CASE("a server inherits none of the simulation's descriptors, even if the kernel has no close_range") {
  has_close_range = GENERATE(true, false);
  const TempFolder folder;
  program(folder, "ls -l /proc/$$/fd > '" + folder.file("open") + "'; exec >&3; echo ok\n");
  const std::string file = folder.write("result", "");
  int many[200];
  for (int& descriptor : many) descriptor = ::open(file.c_str(), O_RDONLY);  // no O_CLOEXEC, as in programs that know of none
  CHECK_NOTHROW(spawn_server("run.xml", 1, 60'000));
  has_close_range = true;
  for (const int descriptor : many) ::close(descriptor);
  ::unsetenv("DAMARIS_SERVER");
  std::stringstream open;
  open << std::ifstream(folder.file("open")).rdbuf();
  CHECK_THAT(open.str(), Catch::Contains(" 0 -> /dev/null") && !Catch::Contains(file));
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
