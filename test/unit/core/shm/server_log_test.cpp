#include "core/shm/server_facts.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <string>

#include "core/base/log.hpp"
#include "core/model/json.hpp"
#include "support/temp_folder.hpp"

namespace damaris::shm {
namespace {

TEST_CASE("a message names the log of the region's server, or says that it keeps none") {
  model::Model model;
  RegionSpec spec;
  model.server_log = "/run.log";
  spec.model = model::to_json_parts(model);
  CHECK(log_of(Region::create(spec)) == "/run.log");
  CHECK(log_says("/run.log", "says why") == "its log, /run.log, says why");
  CHECK(log_says("", "says why") == "no log says why: it keeps none; set <log level=\"warning\"/>, and do not set DAMARIS_LOG=off");
  CHECK(only_in_log("standard error") == "only in the server's log, standard error");
  CHECK(only_in_log("").rfind("lost, as the server has no log of them: it keeps none", 0) == 0);
}

TEST_CASE("the log of a server that a client starts is beside the output, unless the client's environment switches it off") {
  ::unsetenv("DAMARIS_LOG");
  const test::TempFolder folder;
  model::Model model;
  model::Plugin storage;
  storage.storage = true;
  storage.settings = {{"basename", folder.file("storm")}};
  model.plugins = {storage};
  configure_log(LogLevel::warning, "", "client 0");
  CHECK(log_place() == "standard error");
  CHECK(see_log(log_of_background_server(model)) == "see its log, " + folder.file("storm.log"));
  configure_log(LogLevel::warning, "/dev/null", "client 0");
  CHECK(log_place().empty());
  configure_log(LogLevel::off, "", "client 0");
  CHECK(log_of_background_server(model).empty());
}

}  // namespace
}  // namespace damaris::shm
