#include <algorithm>
#include <random>

#include "node.hpp"

namespace damaris::test {
namespace {

TEST_CASE("rule 3: core actions run once per sender, node actions once when all clients of the server have sent it") {
  model::Model model = node_model();
  add_event(model, "tick", {DC_SCOPE_CORE, DC_SCOPE_NODE});
  Node node(model, 3);
  node.start();
  node.client(0).write(node.variable(0, "small"), 0, 0, kFour);
  for (int id = 0; id < 3; ++id) node.client(id).signal("tick", 0);
  node.stop();
  CHECK(node.lines("scope core").size() == 3);
  REQUIRE(node.lines("scope node").size() == 1);
  CHECK(node.lines("scope node")[0].find("event tick step 0 scope node source -1 instance 0") == 0);
  CHECK(node.lines("scope core source 0")[0].find("small:0.0=16:10") != std::string::npos);
}

TEST_CASE("rule 3: the n-th signals of the clients in a step belong together") {
  model::Model model = node_model();
  add_event(model, "tick", {DC_SCOPE_NODE});
  Node node(model, 2);
  node.start();
  for (int n = 0; n < 3; ++n) node.client(0).signal("tick", 0);
  for (int n = 0; n < 3; ++n) node.client(1).signal("tick", 0);
  node.stop();
  const auto lines = node.lines("scope node");
  REQUIRE(lines.size() == 3);
  for (std::size_t n = 0; n < 3; ++n) CHECK(lines[n].find("instance " + std::to_string(n)) != std::string::npos);
}

TEST_CASE("rule 3: an instance that is incomplete when its step completes is reported and discarded") {
  model::Model model = node_model();
  add_event(model, "tick", {DC_SCOPE_NODE});
  Node node(model, 2);
  node.start();
  node.client(0).signal("tick", 0);
  node.client(0).end_iteration(0);
  node.client(1).end_iteration(0);
  const Status report = node.client(0).flush(0, 60'000);
  CHECK(report.code == DC_E_EARLIER_IO);
  CHECK(report.message == "event 'tick' (instance 0) of step 0 was discarded: not sent by client 1 before the step ended");
  // The next step starts counting anew.
  node.client(0).signal("tick", 1);
  node.client(1).signal("tick", 1);
  node.stop();
  CHECK(node.lines("scope node").size() == 1);
  CHECK(node.lines("step 1 scope node").size() == 1);
}

TEST_CASE("rule 3: a client that ended the step without sending has not sent, even if its finalize is seen together with that") {
  model::Model model = node_model();
  add_event(model, "tick", {DC_SCOPE_NODE});
  Node node(model, 2);
  node.client(0).signal("tick", 0);
  node.client(1).end_iteration(0);
  std::thread leaves([&] { (void)node.client(1).finalize(); });
  const Deadline deadline = Deadline::after_ms(20'000);
  while (node.region().lane(1)->head.load() < 2 && !deadline.expired()) std::this_thread::yield();
  node.start();
  const Status ended = node.client(0).end_iteration(0);  // a quick server has reported it by then
  const Status report = node.client(0).finalize();
  leaves.join();
  node.stop();
  CHECK_THAT(ended.message + report.message,
             Catch::Contains("of step 0 was discarded: not sent by client 1 before the step ended"));
  CHECK(node.lines("scope node").empty());
}

TEST_CASE("rule 3: with one server a global action runs once, and on=root on it") {
  model::Model model = node_model();
  add_event(model, "all", {DC_SCOPE_GLOBAL, DC_SCOPE_GLOBAL});
  model.events[0].actions[1].on_root = true;
  Node node(model, 2);
  node.start();
  node.client(0).signal("all", 0);
  node.client(1).signal("all", 0);
  node.stop();
  CHECK(node.lines("scope global").size() == 2);
}

TEST_CASE("an event without an action is ignored; a signal of an unknown name is a usage error") {
  model::Model model = node_model();
  add_event(model, "silent", {});
  Node node(model, 1);
  node.start();
  CHECK_NOTHROW(node.client(0).signal("silent", 0));
  const Error error = error_of([&] { node.client(0).signal("silnt", 0); });
  CHECK(error.code() == DC_E_UNKNOWN_NAME);
  CHECK(error.sentence() == "no event 'silnt' in node.xml; did you mean 'silent'?");
  node.stop();
  CHECK(node.lines().empty());
}

TEST_CASE("a signal sees what its client has written before it, in order") {
  model::Model model = node_model();
  add_event(model, "look", {DC_SCOPE_CORE});
  Node node(model, 1);
  node.start();
  for (int block = 0; block < 4; ++block) {
    node.client(0).write(node.variable(0, "small"), 0, block, kFour);
    node.client(0).signal("look", 0);
  }
  node.stop();
  const auto lines = node.lines("event look");
  REQUIRE(lines.size() == 4);
  for (std::size_t n = 0; n < 4; ++n) CHECK(lines[n].find("datasets " + std::to_string(n + 1)) != std::string::npos);
}

TEST_CASE("rule 3: a client that has finalized is not waited for, even by a signal that the others have sent before") {
  model::Model model = node_model();
  add_event(model, "look", {DC_SCOPE_NODE});
  Node node(model, 2);
  node.client(0).signal("look", 0);
  node.start();
  CHECK(node.client(1).finalize().code == DC_OK);
  node.client(0).signal("look", 1);
  CHECK(node.client(0).end_iteration(1).code == DC_OK);
  CHECK(node.client(0).flush(1, 60'000).code == DC_OK);
  CHECK(node.client(0).finalize().code == DC_OK);
  node.stop();
  CHECK(node.lines("event look").size() == 2);
}

TEST_CASE("by policy a failing action is switched off, which is a notice, or stays, and is an error of its step") {
  model::Model model = node_model();
  add_event(model, "bad", {DC_SCOPE_CORE}, "fail_always");
  const bool disables = GENERATE(true, false);
  model.architecture.plugin_policy = disables ? model::PluginPolicy::disable : model::PluginPolicy::fail_step;
  Node node(model, 1);
  node.start();
  node.client(0).signal("bad", 0);
  node.client(0).signal("bad", 0);
  Status report = node.client(0).end_iteration(0);  // a quick server has reported it by then
  if (report.code == DC_OK) report = node.client(0).flush(0, 60'000);
  CHECK(report.code == (disables ? DC_N_PLUGIN : DC_E_EARLIER_IO));
  CHECK(node.client(0).status().first_error == (disables ? DC_OK : DC_E_PLUGIN));
  CHECK_THAT(report.message,
             Catch::StartsWith("action 'fail_always' of damaris_test_recorder.so failed on event 'bad' of step 0: it was asked "
                               "to fail"));
  CHECK((report.message.find("it is switched off, the run goes on without it") != std::string::npos) == disables);
  CHECK(node.stop().code == (disables ? DC_OK : DC_E_PLUGIN));
  CHECK(node.lines("event bad").size() == (disables ? 1 : 2));
}

TEST_CASE("a thousand random signals of four clients on threads keep each client's order") {
  model::Model model = node_model();
  for (const char* name : {"a", "b", "c"}) add_event(model, name, {DC_SCOPE_CORE});
  model.architecture.buffer_timeout_ms = 20'000;
  Node node(model, 4);
  node.start();
  std::vector<std::vector<std::string>> sent(4);
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id)
    threads.emplace_back([&, id] {
      std::mt19937 random(static_cast<unsigned>(id));
      for (int n = 0; n < 250; ++n) {
        const std::string name(1, static_cast<char>('a' + random() % 3));
        node.client(id).signal(name, n / 10);
        sent[static_cast<std::size_t>(id)].push_back("event " + name + " step " + std::to_string(n / 10) + " scope core source " +
                                                     std::to_string(id));
      }
    });
  for (std::thread& thread : threads) thread.join();
  node.stop();
  CHECK(node.lines("event").size() == 1000);
  for (int id = 0; id < 4; ++id) {
    const auto lines = node.lines("source " + std::to_string(id) + " ");
    const auto& mine = sent[static_cast<std::size_t>(id)];
    REQUIRE(lines.size() == mine.size());
    CHECK(std::equal(mine.begin(), mine.end(), lines.begin(),
                     [](const std::string& start, const std::string& line) { return line.find(start) == 0; }));
  }
}

}  // namespace
}  // namespace damaris::test
