#include "core/shm/server_log.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "core/base/log.hpp"
#include "core/model/json.hpp"
#include "support/temp_folder.hpp"

namespace damaris::shm {
namespace {

using Catch::Contains;
using test::TempFolder;

// As make_region() makes it.
Region region_with(const model::ServerLog& log) {
  model::Model model;
  model.server_log = log;
  RegionSpec spec;
  spec.model = model::to_json_parts(model);
  return Region::create(spec);
}

std::string says_why(const Region& region) { return log_says(find_log(log_of(region)), "says why"); }

void add_line(const std::string& path) { std::ofstream(path, std::ios::app) << "a line\n"; }

TEST_CASE("a message names the server's log, and only where the server has written one") {
  const TempFolder folder;
  const std::string path = folder.file("run.log");
  SECTION("no log at all") {
    const Region region = region_with({"", 0});
    CHECK(says_why(region) == "no log says why: it keeps none; set <log level=\"warning\"/>, and do not set DAMARIS_LOG=off");
    CHECK_THAT(only_in_log(region), Contains("lost, as the server has no log of them: it keeps none"));
  }
  SECTION("a file that was never made, as in a folder that is gone") {
    const Region region = region_with({path, 0});
    CHECK(says_why(region) == "no log says why: it has written nothing to " + path);
    CHECK(only_in_log(region) == "only in the server's log, " + path);  // with its next line
  }
  SECTION("a server that goes on may still write") {
    CHECK(log_will_say({path, 0}, "says whether") == "its log, " + path + ", says whether");
    CHECK_THAT(log_will_say({"", 0}, "says whether"), Contains("no log says whether: it keeps none"));
  }
  SECTION("a file that an earlier run has left, until this server adds to it") {
    add_line(path);
    const Region region = region_with({path, 7});
    CHECK(says_why(region) == "no log says why: it has written nothing to " + path);
    add_line(path);
    CHECK(says_why(region) == "its log, " + path + ", says why");
    CHECK(only_in_log(region) == "only in the server's log, " + path);
  }
  SECTION("standard error") { CHECK(says_why(region_with({"standard error", 0})) == "its log, standard error, says why"); }
  SECTION("a file that another user has put at its name: the log is beside it") {
    add_line(path);
    if (::chown(path.c_str(), 1234, 1234) != 0) return;
    CHECK(says_why(region_with({path, 0})) == "its log, " + path + ".* (as " + path + " belongs to another user), says why");
  }
}

TEST_CASE("the log of a server is the one that this process has set up, with what was in it before") {
  ::unsetenv("DAMARIS_LOG");
  const TempFolder folder;
  const std::string path = folder.file("run.log");
  add_line(path);
  configure_log(LogLevel::warning, path, "server 0");
  CHECK(server_log_of_this_process().place == path);
  CHECK(server_log_of_this_process().bytes_before == 7);
  CHECK(only_in_own_log() == "only in the server's log, " + path);
  configure_log(LogLevel::warning, "", "server 0");
  CHECK(server_log_of_this_process().place == "standard error");
  configure_log(LogLevel::warning, "/dev/null", "server 0");
  CHECK(server_log_of_this_process().place.empty());
  configure_log(LogLevel::off, path, "server 0");
  CHECK(server_log_of_this_process().place.empty());
  CHECK_THAT(only_in_own_log(), Contains("it keeps none"));
}

TEST_CASE("the log of a server that a client starts is beside the output, unless the client's environment switches it off") {
  ::unsetenv("DAMARIS_LOG");
  const TempFolder folder;
  model::Model model;
  model::Plugin storage;
  storage.storage = true;
  storage.settings = {{"basename", folder.file("storm")}};
  model.plugins = {storage};
  configure_log(LogLevel::warning, "", "client 0");
  const model::ServerLog log = log_of_background_server(model);
  CHECK(log.place == folder.file("storm.log"));
  CHECK(see_log(log) == "no log says why: it has written nothing to " + folder.file("storm.log"));
  add_line(log.place);
  CHECK(see_log(log) == "see its log, " + folder.file("storm.log"));
  configure_log(LogLevel::off, "", "client 0");
  CHECK_THAT(see_log(log_of_background_server(model)), Contains("no log says why: it keeps none"));
}

}  // namespace
}  // namespace damaris::shm
