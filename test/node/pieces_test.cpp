// A plugin that works in pieces: the server goes on taking events between two of them.
#include <cstring>

#include "core/shm/server_facts.hpp"
#include "node.hpp"

namespace damaris::test {
namespace {

model::Model pieces_model(const std::string& setting = "") {
  model::Model model = node_model();
  model.architecture.lane_messages = 4;
  model.architecture.buffer_timeout_ms = 20'000;
  model::Plugin plugin;
  plugin.name = "pieces";
  plugin.library = "damaris_test_pieces.so";
  plugin.storage = true;
  if (!setting.empty()) plugin.settings.emplace_back(setting, "yes");
  model.plugins.push_back(plugin);
  add_event(model, "go", {DC_SCOPE_CORE});
  model.events[0].actions[0].plugin = 0;
  model.events[0].actions[0].function.clear();
  return model;
}

TEST_CASE("a step is processed when its plugin has had as many calls as it asked for") {
  Node node(pieces_model(), 1);
  node.start();
  for (std::int64_t step = 0; step < 3; ++step) {
    CHECK(node.client(0).write(node.variable(0, "small"), step, 0, kFour) == DC_OK);
    CHECK(node.client(0).end_iteration(step).code == DC_OK);
    CHECK(node.client(0).flush(step, 20'000).code == DC_OK);
    CHECK(node.lines("stored 0 step " + std::to_string(step)).size() == 1);
  }
  node.stop();
  CHECK(node.lines() == std::vector<std::string>{"report of 0 step 0", "stored 0 step 0", "report of 0 step 1", "stored 0 step 1",
                                                 "report of 0 step 2", "stored 0 step 2", "finalize 0 step -1"});
}

TEST_CASE("rule 4: a plugin that waits for its turn keeps the server from nothing: lanes much shorter than a step are drained") {
  Node node(pieces_model("hold"), 1);
  node.start();
  CHECK(node.client(0).end_iteration(0).code == DC_OK);
  for (int block = 0; block < 40; ++block) CHECK(node.client(0).write(node.variable(0, "small"), 1, block, kFour) == DC_OK);
  CHECK(node.lines("stored").empty());
  node.client(0).signal("go", 1);
  CHECK(node.client(0).end_iteration(1).code == DC_OK);
  CHECK(node.client(0).flush(1, 20'000).code == DC_OK);
  node.stop();
  CHECK(node.lines("stored 0 step 1").size() == 1);
  CHECK(node.lines("event 0 step 1").size() == 1);
}

TEST_CASE("an action runs between two parts of a step, and the step is stored all the same") {
  Node node(pieces_model("tell_again"), 1);
  node.client(0).end_iteration(0);
  for (int pass = 0; pass < 100 && node.lines("again").empty(); ++pass) node.server().poll();
  node.client(0).signal("go", 1);
  for (int pass = 0; pass < 100 && node.lines("stored").empty(); ++pass) node.server().poll();
  CHECK(node.lines("stored 0 step 0").size() == 1);
  CHECK(node.lines("event 0 step 1").size() == 1);
  node.stop();
}

TEST_CASE("what a plugin waits for is shown while it waits, and no longer") {
  Node node(pieces_model("hold"), 1);
  const auto shown = [&] { return shm::busy_with(node.region().header()).what; };
  const std::string waiting = "plugin 'pieces', which waits for go";
  const auto poll_until = [&](auto&& done) {
    while (!done()) node.server().poll();  // else the test's time limit ends it
  };
  CHECK(node.client(0).end_iteration(0).code == DC_OK);
  poll_until([&] { return shown() == waiting; });
  node.client(0).signal("go", 1);
  CHECK(node.client(0).end_iteration(1).code == DC_OK);
  poll_until([&] { return !node.lines("stored 0 step 0").empty(); });
  for (int look = 0; look < 10; ++look) {
    CHECK(shown() != waiting);
    node.server().poll();
  }
}

TEST_CASE("for a plugin that waits for its turn, a flush, the next complete step and the end set the urgent flag") {
  Node node(pieces_model("patience"), 1);
  node.start();
  CHECK(node.client(0).end_iteration(0).code == DC_OK);
  CHECK(node.client(0).flush(0, 20'000).code == DC_OK);
  CHECK(node.lines("stored 0 step 0").size() == 1);
  for (const std::int64_t step : {1, 2}) CHECK(node.client(0).end_iteration(step).code == DC_OK);
  while (node.lines("stored 0 step 1").empty()) std::this_thread::yield();  // else the test's time limit ends it
  node.stop();
  CHECK(node.lines("stored 0 step 2").size() == 1);
}

TEST_CASE("background work is done between events, in pieces, and a plugin that has none is left alone") {
  Node node(pieces_model("idle"), 1);
  const auto poll_until = [&](const std::string& line) {
    while (node.lines(line).empty()) node.server().poll();  // else the test's time limit ends it
  };
  CHECK(node.client(0).end_iteration(0).code == DC_OK);
  poll_until("stored 0 step 0");  // the plugin has always more to do, and keeps nobody waiting
  const auto idle = [&] { return node.lines("idle").size(); };
  const auto before = idle();
  for (int look = 0; look < 10; ++look) {
    const bool found = node.server().poll();
    const int pieces = std::stoi(node.lines("idle").back().substr(std::strlen("idle 0 step ")));
    if (pieces % 2 == 1) CHECK(found);  // there was more to do at once
  }
  CHECK(idle() >= before + 9);
  node.client(0).signal("go", 1);
  CHECK(node.client(0).end_iteration(1).code == DC_OK);
  poll_until("stored 0 step 1");
  poll_until("idle 0 step 0");  // nothing to do
  while (node.server().poll()) {
  }
  const auto after = idle();
  for (int look = 0; look < 10; ++look) node.server().poll();
  CHECK(idle() == after);
  node.stop();
  CHECK(idle() == after);  // at the end finalize does what is left
}

}  // namespace
}  // namespace damaris::test
