// A server whose work side is held up: its intake side goes on, whatever a plugin does.
#include <array>
#include <atomic>
#include <chrono>
#include <fstream>

#include "node.hpp"

namespace damaris::test {
namespace {

const std::vector<double> kVec(100, 1.0);  // 800 bytes

// `slow` holds the work side until let_go(); `go` only records.
model::Model held_model(const TempFolder& spill) {
  model::Model model = node_model();
  model.architecture.buffer_bytes = 64 * 1024;
  model.architecture.buffer_timeout_ms = 20'000;
  model.architecture.finalize_timeout_ms = 20'000;
  model.architecture.spill = spill.path();
  model.architecture.spill_bytes = 1 << 30;
  add_recorder(model, true);
  add_event(model, "slow", {DC_SCOPE_CORE}, "hold");
  add_event(model, "go", {DC_SCOPE_CORE});
  return model;
}

void let_go(const Node& node) { std::ofstream(node.folder().file("log.go")).put('\n'); }

template <class Done>
bool within_10_s(Done&& done) {
  const Deadline deadline = Deadline::after_ms(10'000);
  while (!done()) {  // once: a server that sleeps may be awake at a second look
    if (deadline.expired()) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace

TEST_CASE("rule 4: while an action sleeps, ten times the buffer is accepted and spilled; afterwards every step is stored") {
  constexpr int kSteps = 100, kBlocks = 8;
  const TempFolder spill;
  Node node(held_model(spill), 1);
  node.start();
  node.client(0).signal("slow", 0);
  for (int step = 0; step < kSteps; ++step) {
    for (int block = 0; block < kBlocks; ++block)
      REQUIRE(node.client(0).write(node.variable(0, "vec"), step, block, kVec.data()) == DC_OK);
    REQUIRE(node.client(0).end_iteration(step).code == DC_OK);
  }
  CHECK(node.region().header().spilled_bytes.load() > 0);
  CHECK(node.lines(" complete 1 ").empty());
  let_go(node);
  CHECK(node.client(0).flush(kSteps - 1, 20'000).code == DC_OK);
  CHECK(node.stop().code == DC_OK);
  const auto stored = node.lines(" complete 1 time -1 datasets 8 vec:0.0=800:100 ");
  CHECK(stored.size() == kSteps);
}

TEST_CASE("rule 4: while an action sleeps, ends of steps are taken, and a step that is complete is known to be") {
  const TempFolder spill;
  Node node(held_model(spill));
  node.start();
  node.client(0).signal("slow", 0);
  for (int id : {0, 1}) {
    CHECK(node.client(id).write(node.variable(id, "small"), 0, 0, kFour) == DC_OK);
    CHECK(node.client(id).end_iteration(5).code == DC_OK);
  }
  CHECK(within_10_s([&] { return node.region().slot(1).ended_step.load() == 5; }));
  CHECK(within_10_s([&] { return node.region().header().last_complete.load() == 5; }));
  CHECK(node.lines(" complete 1 ").empty());
  let_go(node);
  node.stop();
}

TEST_CASE(
    "while a plugin sleeps in its finalize, clients leave within the finalize time-out with a notice; the server ends later") {
  model::Model model = node_model();
  model.architecture.finalize_timeout_ms = 8'000;
  add_recorder(model, true, {{"hold_at", "end"}});
  Node node(model);
  node.start();
  std::vector<std::thread> ends;
  std::array<Status, 2> left;
  const auto start = Clock::now();
  for (int id : {0, 1}) {
    CHECK(node.client(id).write(node.variable(id, "small"), 0, 0, kFour) == DC_OK);
    CHECK(node.client(id).end_iteration(0).code == DC_OK);
    ends.emplace_back([&node, &left, id] { left[static_cast<std::size_t>(id)] = node.client(id).finalize(); });
  }
  for (std::thread& end : ends) end.join();
  CHECK(Clock::now() - start > std::chrono::milliseconds(5'900));
  CHECK((left[0].code == DC_N_VIEWS_FOLLOW || left[1].code == DC_N_VIEWS_FOLLOW));
  for (const Status& status : left) {
    if (status.code == DC_OK) continue;  // it left long before the other, on a machine that did not run that one's thread
    CHECK(status.code == DC_N_VIEWS_FOLLOW);
    CHECK_THAT(status.message, Catch::Contains("the data are durable") && Catch::Contains("finalize-timeout=\"8000ms\""));
  }
  CHECK(node.lines("finalize").empty());
  let_go(node);
  CHECK(node.stop().code == DC_OK);
  CHECK(node.lines("finalize").size() == 1);
}

TEST_CASE("a client waits in its finalize for plugins that take longer than ten seconds, and gets their result", "[long]") {
  model::Model model = node_model();
  model.architecture.finalize_timeout_ms = 120'000;
  add_recorder(model, true, {{"hold_at", "end"}, {"fail_at", "end"}});
  Node node(model, 1);
  node.start();
  std::thread writer([&node] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10'500));
    let_go(node);
  });
  const Status left = node.client(0).finalize();
  CHECK(left.code == DC_E_EARLIER_IO);
  writer.join();
  CHECK(node.lines("finalize").size() == 1);
  node.stop();
}

TEST_CASE("while an action sleeps, a client can queue only so many signals: the rest waits in its lane, and the server sleeps") {
  constexpr std::uint32_t kQueued = 65'536;
  const TempFolder spill;
  model::Model model = held_model(spill);
  model.architecture.lane_messages = 1024;
  model.architecture.buffer_timeout_ms = 2'000;
  Node node(model, 1);
  node.start();
  node.client(0).signal("slow", 0);
  std::uint32_t sent = 0;
  const Deadline deadline = Deadline::after_ms(30'000);
  for (bool is_full = false; !is_full && sent < 2 * kQueued;) try {
      node.client(0).signal("go", 0);
      ++sent;
    } catch (const Error& full) {
      CHECK(full.code() == DC_E_FULL);
      is_full = sent > kQueued || deadline.expired();  // else the server did not get its turn in time
    }
  CHECK(sent > kQueued);
  CHECK(sent < kQueued + 2048);
  CHECK(within_10_s([&] { return node.region().header().server_sleeping.load() != 0; }));
  let_go(node);
  const shm::LaneHeader& lane = *node.region().lane(0);
  CHECK(within_10_s([&] { return lane.tail.load() == lane.head.load(); }));
  CHECK(node.client(0).end_iteration(0).code == DC_OK);
  node.stop();
  CHECK(node.lines("event go").size() == sent);
}

TEST_CASE(
    "while an action sleeps, a client can be only so many steps ahead; the others are still served, and all steps come in order") {
  constexpr int kAhead = 4096;
  const TempFolder spill;
  model::Model model = held_model(spill);
  model.architecture.lane_messages = 1024;
  Node node(model);
  node.start();
  node.client(1).signal("slow", 0);
  std::thread runner([&] {
    for (int step = 0; step < 3 * kAhead; ++step) REQUIRE(node.client(0).end_iteration(step).code == DC_OK);
  });
  CHECK(within_10_s([&] { return node.region().slot(0).ended_step.load() >= kAhead - 1; }));
  CHECK(within_10_s([&] { return node.region().header().server_sleeping.load() != 0; }));
  CHECK(node.region().slot(0).ended_step.load() < kAhead + 512);
  CHECK(node.client(1).write(node.variable(1, "small"), 7, 0, kFour) == DC_OK);
  CHECK(within_10_s([&] { return node.region().slot(1).ended_step.load() == 6; }));
  let_go(node);
  CHECK(node.client(1).end_iteration(3 * kAhead).code == DC_OK);
  runner.join();
  node.stop();
  CHECK(node.lines("step 7 complete")[0].find("datasets 1 ") != std::string::npos);
}

TEST_CASE("an action that has waited for another one sees the datasets that had come before its signal, and no later ones") {
  const TempFolder spill;
  Node node(held_model(spill), 1);
  node.start();
  node.client(0).signal("slow", 0);
  CHECK(node.client(0).write(node.variable(0, "small"), 0, 0, kFour) == DC_OK);
  node.client(0).signal("go", 0);
  CHECK(node.client(0).write(node.variable(0, "small"), 0, 1, kFour) == DC_OK);
  CHECK(node.client(0).write(node.variable(0, "vec"), 0, 0, kVec.data()) == DC_OK);
  CHECK(node.client(0).end_iteration(0).code == DC_OK);
  CHECK(within_10_s([&] { return node.region().header().last_complete.load() == 0; }));
  let_go(node);
  node.stop();
  REQUIRE(node.lines("event go").size() == 1);
  CHECK_THAT(node.lines("event go")[0], Catch::Contains("datasets 1 small:0.0=16:10"));
  CHECK_THAT(node.lines("step 0 complete")[0], Catch::Contains("datasets 3 "));
}

}  // namespace damaris::test
