// What plugins do wrong, and where they are sought.
#include <cfenv>
#include <iostream>
#include <sstream>

#include "core/shm/dead_regions.hpp"
#include "node.hpp"
#include "server/loaded_plugin.hpp"

namespace damaris::test {
namespace {

TEST_CASE("what a plugin says at its end reaches the last clients, which wait for it; those that left before do not") {
  model::Model model = node_model();
  add_recorder(model, true, {{"fail_at", "end"}});
  Node node(model, 2);
  node.start();
  node.client(0).write(node.variable(0, "small"), 0, 0, kFour);
  CHECK(node.client(1).finalize().code == DC_OK);
  const Status report = node.client(0).finalize();
  CHECK(report.code == DC_E_EARLIER_IO);
  CHECK(report.message.find("it was asked to fail at its end") != std::string::npos);
  CHECK(node.lines("finalize").size() == 1);
}

TEST_CASE("a plugin that fails in a step or at its end is, by policy, a notice and no failure, and is finalized all the same") {
  model::Model model = node_model();
  const std::string fail_at = GENERATE("0", "end");
  const bool disables = GENERATE(true, false);
  model.architecture.plugin_policy = disables ? model::PluginPolicy::disable : model::PluginPolicy::fail_step;
  add_recorder(model, false, {{"fail_at", fail_at}});
  Node node(model, 1);
  node.start();
  for (std::int64_t step = 0; step < 2; ++step) {
    node.client(0).write(node.variable(0, "small"), step, 0, kFour);
    const Status ended = node.client(0).end_iteration(step);
    if (disables) CHECK(ended.code >= DC_OK);
  }
  const Status report = node.client(0).finalize();
  if (disables) CHECK(report.code >= DC_OK);
  if (fail_at == "end") CHECK(report.code == (disables ? DC_N_PLUGIN : DC_E_EARLIER_IO));
  CHECK((node.stop().code == DC_OK) == disables);
  CHECK(node.lines("finalize").size() == 1);
  CHECK(node.lines("step 1").size() == (fail_at == "0" && disables ? 0 : 1));
}

TEST_CASE("what other plugins failed at comes to the storage with the next step, and an error is not hidden behind a notice") {
  model::Model model = node_model();
  add_event(model, "bad", {DC_SCOPE_CORE}, "fail_always");
  add_recorder(model, true, {{"fail_at", "0"}});
  Node node(model, 1);
  node.client(0).signal("bad", 0);
  node.client(0).write(node.variable(0, "small"), 0, 0, kFour);
  node.start();
  const Status report = node.client(0).finalize();
  CHECK(report.code == DC_E_EARLIER_IO);
  CHECK_THAT(report.message, Catch::Contains("fail_always") && Catch::Contains("it was asked to fail at this step"));
  CHECK(node.stop().code == DC_E_IO);
  CHECK(node.lines("plugin failed: action 'fail_always' of damaris_test_recorder.so failed on event 'bad'").size() == 1);
}

TEST_CASE("an exception that leaves a plugin fails its step with its own words, and the next step is served") {
  model::Model model = node_model();
  add_recorder(model, true);
  model.plugins.front().library = "damaris_test_throwing.so";
  Node node(model, 1);
  node.start();
  for (std::int64_t step = 0; step < 3; ++step) {
    node.client(0).write(node.variable(0, "small"), step, 0, kFour);
    const Status ended = node.client(0).end_iteration(step);
    const Status flushed = ended.code == DC_OK ? node.client(0).flush(step, 60'000) : ended;
    CHECK(flushed.code == (step < 2 ? DC_E_EARLIER_IO : DC_OK));
    if (step == 0) CHECK_THAT(flushed.message, Catch::Contains("it threw: the flux is negative"));
    if (step == 1) CHECK_THAT(flushed.message, Catch::Contains("it threw something other than a std::exception"));
  }
  node.stop();
}

TEST_CASE("an action prints with the C++ library of the program") {
  std::ostringstream printed;
  std::streambuf* const before = std::cout.rdbuf(printed.rdbuf());
  model::Model model = node_model();
  add_event(model, "print", {DC_SCOPE_CORE}, "print_step");
  model.events[0].actions[0].library = "damaris_test_printing.so";
  Node node(model, 1);
  node.start();
  node.client(0).signal("print", 7);
  node.client(0).end_iteration(7);
  const int code = node.stop().code;
  std::cout.rdbuf(before);
  CHECK(code == DC_OK);
  CHECK(printed.str() == "server 0 sees step 7\n");
}

TEST_CASE("a plugin that refuses its settings stops the start with its own sentence") {
  model::Model model = node_model();
  add_recorder(model, true, {{"refuse", "yes"}});
  model.plugins[0].where = {12, 5};
  const Error error = error_of([&] { Node node(model, 1); });
  CHECK(error.code() == DC_E_CONFIG);
  CHECK(error.sentence() == "node.xml:12:5: plugin 'recorder' failed in init: it was asked to refuse");
}

TEST_CASE("a missing plugin and a missing function are named with their XML line and the places that were searched") {
  model::Model model = node_model();
  add_event(model, "e", {DC_SCOPE_NODE}, "recrod");
  model.events[0].actions[0].where = {7, 3};
  const Error function = error_of([&] { Node node(model, 1); });
  CHECK(function.code() == DC_E_PLUGIN);
  CHECK(function.sentence().find("node.xml:7:3: ") == 0);
  CHECK(function.sentence().find("exports no function 'recrod'") != std::string::npos);
  model.events[0].actions[0].library = "nowhere.so";
  const Error library = error_of([&] { Node node(model, 1); });
  CHECK(library.code() == DC_E_PLUGIN);
  CHECK(library.sentence().find("node.xml:7:3: no plugin 'nowhere.so'; looked for ") == 0);
}

TEST_CASE("rule 12: a plugin is searched for in the plugin path, then beside the XML, never in the working directory") {
  const TempFolder beside;
  const TempFolder working;
  beside.write("p.so", "");
  working.write("q.so", "");
  model::Model model;
  model.file = beside.file("x.xml");
  CHECK(server::find_plugin("p.so", model, {}) == beside.file("p.so"));
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(working.path());
  CHECK_THROWS_AS(server::find_plugin("q.so", model, {}), Error);
  std::filesystem::current_path(before);
}

TEST_CASE("a plugin that leaves floating-point traps enabled stops no other code") {
  model::Model model = node_model();
  add_event(model, "wild", {DC_SCOPE_CORE}, "enable_traps");
  Node node(model, 1);
  node.client(0).signal("wild", 0);
  node.start();
  CHECK(node.client(0).finalize().code == DC_OK);
  CHECK(node.stop().code == DC_OK);
  CHECK(node.lines("traps").size() == 1);
}

TEST_CASE("a plugin that rounds upwards does so for itself alone") {
  model::Model model = node_model();
  add_event(model, "wild", {DC_SCOPE_CORE}, "round_upwards");
  Node node(model, 1);
  node.client(0).signal("wild", 0);
  node.client(0).signal("wild", 0);
  node.start();
  CHECK(node.client(0).finalize().code == DC_OK);
  CHECK(node.stop().code == DC_OK);
  CHECK(node.lines("rounding " + std::to_string(FE_TONEAREST)).size() == 2);
}

TEST_CASE("plugins get the job, and the host by a name that any file may have") {
  model::Model model = node_model();
  add_recorder(model, false, {{"tell_host", ""}});
  const TempFolder folder;
  ::setenv("DAMARIS_TEST_LOG", folder.file("log").c_str(), 1);
  const auto shared = std::make_shared<model::Model>(model);
  const auto region = server::make_region(model, "<simulation/>", 1, {"", "n\xf6 d/e-1_a\xc3\xbc", 0, false});
  const server::Server server(shared, region, std::make_unique<server::SingleCoordinator>(), {0});
  std::ifstream log(folder.file("log.s0"));
  std::string line;
  std::getline(log, line);
  CHECK(line == "host n__d_e-1_a__ of " + shm::job_of_region(region->name()));
}

}  // namespace
}  // namespace damaris::test
