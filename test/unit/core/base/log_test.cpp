#include "core/base/log.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "support/errors.hpp"
#include "support/temp_folder.hpp"

using Catch::Matchers::Contains;
using damaris::LogLevel;
using damaris::test::TempFolder;

namespace {

std::string content(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// Calls `done` until it is true: a line is written by a thread, for which the call that logs it waits only so long.
template <class Done>
void wait_for_lines(Done&& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!done() && std::chrono::steady_clock::now() < end) ::usleep(2'000);
}

// The text of the file, once that is in it, or will not be.
std::string content_with(const std::string& part, const std::string& file) {
  wait_for_lines([&] { return content(file).find(part) != std::string::npos; });
  return content(file);
}

// Leaves the log as a process finds it at its start.
struct QuietAfterwards {
  ~QuietAfterwards() {
    ::unsetenv("DAMARIS_LOG");
    damaris::configure_log(LogLevel::off, "", "test");
  }
};

// Whether a child with that standard error ends `work` within some seconds.
template <class Work>
bool ends_with_stderr(int descriptor, const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(descriptor, STDERR_FILENO);
    work();
    ::_exit(0);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  int status = -1;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) ::kill(child, SIGKILL);
    ::usleep(2'000);
  }
  return WIFEXITED(status);
}

void log_many_lines() {
  damaris::configure_log(LogLevel::warning, "", "test");
  for (int line = 0; line < 30; ++line) damaris::log_line(LogLevel::error, std::string(200, 'x'));
}

// Writes until there is no room.
void fill(int descriptor) {
  const std::string piece(200, 'x');
  while (::write(descriptor, piece.data(), piece.size()) > 0) {
  }
}

}  // namespace

TEST_CASE("the log is silent until it is configured") {
  REQUIRE_FALSE(damaris::log_enabled(LogLevel::error));
  damaris::log_line(LogLevel::error, "nobody sees this");
}

TEST_CASE("lines up to the level go to the file, which the first line opens") {
  const QuietAfterwards quiet;
  const TempFolder folder;
  const std::string file = folder.file("log");
  damaris::configure_log(LogLevel::warning, file, "server 0");
  damaris::log_line(LogLevel::warning, "a {} that is no format");
  damaris::log_line(LogLevel::info, "too detailed");
  REQUIRE_THAT(content_with("no format", file), Contains("damaris server 0 warning: a {} that is no format\n"));
  REQUIRE_THAT(content(file), !Contains("too detailed"));
}

TEST_CASE("DAMARIS_LOG wins over the configured level, and a wrong value says so") {
  const QuietAfterwards quiet;
  const TempFolder folder;
  ::setenv("DAMARIS_LOG", "debug", 1);
  damaris::configure_log(LogLevel::off, folder.file("a"), "client 3");
  REQUIRE(damaris::log_enabled(LogLevel::debug));
  ::setenv("DAMARIS_LOG", "loud", 1);
  damaris::configure_log(LogLevel::off, folder.file("b"), "client 3");
  REQUIRE_FALSE(damaris::log_enabled(LogLevel::info));
  REQUIRE_THAT(content_with("allowed are", folder.file("b")),
               Contains("DAMARIS_LOG='loud' is not a level; allowed are off, error, warning, info, debug"));
}

TEST_CASE("a log file that cannot be opened is a configuration error") {
  const QuietAfterwards quiet;
  const TempFolder folder;
  folder.write("plain", "no folder");
  const auto error = damaris::test::error_of([&] { damaris::configure_log(LogLevel::info, folder.file("plain/log"), "server 0"); });
  REQUIRE(error.code() == DC_E_CONFIG);
  REQUIRE_THAT(error.sentence(), Contains("plain/log' cannot be opened"));
}

TEST_CASE("a line never goes into a file that has got the number of the log's closed descriptor", "[unpromised]") {
  const QuietAfterwards quiet;
  const TempFolder folder;
  const int free = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(free);
  damaris::configure_log(LogLevel::warning, folder.file("log"), "client 0");
  ::close(free);
  const int result = ::open(folder.file("result").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  REQUIRE(result == free);
  damaris::log_line(LogLevel::warning, "after the program has closed what it does not know");
  damaris::configure_log(LogLevel::off, "", "client 0");
  REQUIRE(content(folder.file("result")).empty());
  REQUIRE_THAT(content_with("does not know", folder.file("log")), Contains("closed what it does not know"));
  REQUIRE(::close(result) == 0);
}

TEST_CASE("a log in the background creates its file with the first line, and keeps lines while the folder is missing") {
  const QuietAfterwards quiet;
  const TempFolder folder;
  const std::string file = folder.file("away/log");
  damaris::configure_log(LogLevel::warning, file, "server 0", damaris::LogFileCreation::lazy);
  damaris::log_line(LogLevel::info, "too detailed");
  damaris::log_line(LogLevel::warning, "one");
  REQUIRE_FALSE(std::filesystem::exists(folder.file("away")));
  std::filesystem::create_directory(folder.file("away"));
  REQUIRE_FALSE(std::filesystem::exists(file));
  damaris::log_line(LogLevel::error, "two");
  REQUIRE_THAT(content_with("two", file), Contains("damaris server 0 warning: one\n") && Contains("damaris server 0 error: two\n"));
}

TEST_CASE("a log in the background whose name another user has taken is kept beside it") {
  const QuietAfterwards quiet;
  const TempFolder folder;
  const std::string taken = folder.write("log", "");
  if (::chown(taken.c_str(), 65534, 65534) != 0) {
    WARN("SKIP: only root can give a file to another user");
    return;
  }
  damaris::configure_log(LogLevel::warning, taken, "server 0", damaris::LogFileCreation::lazy);
  for (const char* line : {"one", "two"}) damaris::log_line(LogLevel::error, line);
  REQUIRE(content(taken).empty());
  std::filesystem::remove(taken);
  wait_for_lines([&] { return !std::filesystem::is_empty(folder.path()); });
  const auto beside = std::filesystem::directory_iterator(folder.path())->path();
  REQUIRE(beside.filename().string().rfind("log.", 0) == 0);
  REQUIRE_THAT(content_with("two\n", beside), Contains("error: one\n") && Contains("error: two\n"));
}

TEST_CASE("a log in the background follows no link, and waits for no reader of a pipe") {
  const QuietAfterwards quiet;
  const TempFolder folder;
  folder.write("another's", "untouched");
  std::filesystem::create_symlink(folder.file("another's"), folder.file("link"));
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  for (const char* name : {"link", "pipe"}) {
    damaris::configure_log(LogLevel::warning, folder.file(name), "server 0", damaris::LogFileCreation::lazy);
    damaris::log_line(LogLevel::error, "nobody sees this");
  }
  REQUIRE(content(folder.file("another's")) == "untouched");
}

TEST_CASE("a standard error without a reader delays no process: lines are dropped until there is room again", "[unpromised]") {
  const QuietAfterwards quiet;
  int ends[2] = {};
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const int before = ::dup(STDERR_FILENO);
  REQUIRE(::dup2(ends[1], STDERR_FILENO) >= 0);
  damaris::configure_log(LogLevel::warning, "", "test");
  const std::string much(10'000, 'x');
  for (int line = 0; line < 50; ++line) damaris::log_line(LogLevel::error, much);
  std::string text(1 << 20, '\0');
  REQUIRE(::read(ends[0], text.data(), text.size()) > 0);
  damaris::log_line(LogLevel::error, "somebody reads again");
  const ssize_t bytes = ::read(ends[0], text.data(), text.size());
  ::dup2(before, STDERR_FILENO);
  for (const int descriptor : {before, ends[0], ends[1]}) ::close(descriptor);
  REQUIRE(bytes > 0);
  text.resize(static_cast<std::size_t>(bytes));
  CHECK_THAT(text, Contains("somebody reads again"));
}

TEST_CASE("a terminal that takes part of a line delays no process, and stays as blocking as it was for others that share it",
          "[unpromised]") {
  const int screen = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  REQUIRE(screen >= 0);
  REQUIRE((::grantpt(screen) == 0 && ::unlockpt(screen) == 0));
  const int terminal = ::open(::ptsname(screen), O_RDWR | O_NOCTTY | O_CLOEXEC);
  const int filler = ::open(::ptsname(screen), O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  REQUIRE((terminal >= 0 && filler >= 0));
  fill(filler);
  char text[256];
  for (int got = 0; got < 700;) got += static_cast<int>(::read(screen, text, sizeof text));
  CHECK(ends_with_stderr(terminal, log_many_lines));
  CHECK((::fcntl(terminal, F_GETFL) & O_NONBLOCK) == 0);
  for (const int descriptor : {filler, terminal, screen}) ::close(descriptor);
}

TEST_CASE("a socket without a reader delays no process", "[unpromised]") {
  int ends[2] = {};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  const int least = 1;
  ::setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &least, sizeof least);
  CHECK(ends_with_stderr(ends[1], log_many_lines));
  for (const int end : ends) ::close(end);
}

TEST_CASE("a log to /dev/stderr does not wait for a reader of a named pipe, and says that there is none", "[unpromised]") {
  const TempFolder folder;
  const std::string pipe = folder.file("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const int writer = ::open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
  const auto is_refused = [] {
    const auto error = damaris::test::error_of([] { damaris::configure_log(LogLevel::warning, "/dev/stderr", "test"); });
    if (error.code() != DC_E_CONFIG || error.sentence().find("no process reads this pipe") == std::string::npos) ::raise(SIGABRT);
  };
  CHECK(ends_with_stderr(writer, [] {
    damaris::configure_log(LogLevel::warning, "/dev/stderr", "test");
    log_many_lines();
  }));
  ::close(reader);
  CHECK(ends_with_stderr(writer, is_refused));
  ::close(writer);
}
