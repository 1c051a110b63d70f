#include "core/base/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <cstdlib>
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

TEST_CASE("lines up to the level go to the file, opened by who speaks") {
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
  REQUIRE_THAT(content(folder.file("b")), Contains("DAMARIS_LOG='loud' is no level; allowed are off, error, warning, info, debug"));
}

TEST_CASE("a log file that cannot be opened is a configuration error") {
  const QuietAfterwards quiet;
  const TempFolder folder;
  folder.write("plain", "no folder");
  const auto error = damaris::test::error_of([&] { damaris::configure_log(LogLevel::info, folder.file("plain/log"), "server 0"); });
  REQUIRE(error.code() == DC_E_CONFIG);
  REQUIRE_THAT(error.sentence(), Contains("plain/log' cannot be opened"));
}

TEST_CASE("a line never goes into a file that has got the number of the log's closed descriptor") {
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
  REQUIRE_THAT(content(folder.file("log")), Contains("closed what it does not know"));
  REQUIRE(::close(result) == 0);
}
