#include "core/base/log.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>

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

// Leaves the log as a process finds it at its start.
struct QuietAfterwards {
  ~QuietAfterwards() {
    ::unsetenv("DAMARIS_LOG");
    damaris::configure_log(LogLevel::off, "", "test");
  }
};

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
  REQUIRE_THAT(content(file), Contains("damaris server 0 warning: a {} that is no format\n"));
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
  REQUIRE_THAT(content(folder.file("b")),
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
  REQUIRE_THAT(content(file), Contains("damaris server 0 warning: one\n") && Contains("damaris server 0 error: two\n"));
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
  const auto beside = std::filesystem::directory_iterator(folder.path())->path();
  REQUIRE(beside.filename().string().rfind("log.", 0) == 0);
  REQUIRE_THAT(content(beside), Contains("error: one\n") && Contains("error: two\n"));
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

TEST_CASE("a server's lines wait for no reader: 1 MiB is kept in order, and the number of the lost ones is written") {
  const QuietAfterwards quiet;
  int ends[2] = {};
  REQUIRE(::pipe(ends) == 0);
  const int before = ::dup(STDERR_FILENO);
  REQUIRE(::dup2(ends[1], STDERR_FILENO) >= 0);
  ::close(ends[1]);
  damaris::configure_log(LogLevel::warning, "", "server 0");
  std::string text(1, '\0');
  std::thread reader;
  const auto line = [](char of) { return std::string(200'000, of); };  // more than a pipe takes
  {
    const damaris::LogThread thread;
    damaris::log_line(LogLevel::error, line('a'));
    REQUIRE(::read(ends[0], text.data(), 1) == 1);  // the thread has taken that line
    for (char next = 'b'; next <= 't'; ++next) damaris::log_line(LogLevel::error, line(next));
    reader = std::thread([&] {
      std::string piece(1 << 16, '\0');
      for (ssize_t got; (got = ::read(ends[0], piece.data(), piece.size())) > 0;)
        text.append(piece, 0, static_cast<std::size_t>(got));
    });
  }
  ::dup2(before, STDERR_FILENO);
  reader.join();
  for (const int descriptor : {before, ends[0]}) ::close(descriptor);
  std::size_t at = 0;
  for (char next = 'a'; next <= 'f'; ++next) {
    const std::size_t found = text.find("error: " + line(next) + "\n", at);
    CHECK((found != std::string::npos));
    at = found;
  }
  CHECK((text.find("damaris: 14 lines of the log are missing here: it was not written fast enough\n", at) != std::string::npos));
}

TEST_CASE("a fork, which has no thread that writes, writes its lines itself") {
  const QuietAfterwards quiet;
  const TempFolder folder;
  const std::string file = folder.file("log");
  damaris::configure_log(LogLevel::warning, file, "server 0");
  {
    const damaris::LogThread thread;
    for (int tries = 0; tries < 20 && content(file).empty(); ++tries) {  // the thread may have the log at one of these moments
      const pid_t child = ::fork();
      if (child == 0) {
        damaris::log_line(LogLevel::error, "of the child");
        ::_exit(0);
      }
      REQUIRE(::waitpid(child, nullptr, 0) == child);
    }
    damaris::log_line(LogLevel::error, "of the parent");
  }
  REQUIRE_THAT(content(file), Contains("error: of the child\n") && Contains("error: of the parent\n"));
}
