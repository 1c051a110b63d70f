// Much of everything at once: clients, variables, events, and steps of nothing and of nearly all of the buffer.
#include <array>

#include "node.hpp"

namespace damaris::test {
namespace {

// Sanitizers take thirty times as long, and find what they look for sooner.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kEvents = 50'000;
#else
constexpr int kEvents = 1'000'000;
#endif

model::Model patient_model() {
  model::Model model = node_model();
  model.architecture.buffer_timeout_ms = 60'000;
  model.architecture.finalize_timeout_ms = 60'000;
  add_recorder(model, true);
  return model;
}

// Each client on a thread of its own. Sanitizers and slow machines take their time; no wait here is shorter than a minute.
template <class Work>
void on_threads(int clients, Work&& work) {
  std::vector<std::thread> threads;
  for (int id = 0; id < clients; ++id) threads.emplace_back([&, id] { work(id); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("64 clients of one server: every dataset of every step arrives") {
  constexpr int kClients = 64, kSteps = 10;
  model::Model model = patient_model();
  model.architecture.buffer_bytes = kClients * 16 * 1024;
  Node node(model, kClients);
  node.start();
  std::array<int, kClients> failures = {};
  on_threads(kClients, [&](int id) {
    int& failed = failures[static_cast<std::size_t>(id)];
    for (std::int64_t step = 0; step < kSteps; ++step) {
      for (int block = 0; block < 8; ++block)
        failed += node.client(id).write(node.variable(id, "small"), step, block, kFour) != DC_OK;
      failed += node.client(id).end_iteration(step).code != DC_OK;
    }
  });
  CHECK(failures == std::array<int, kClients>{});
  node.stop();
  CHECK(node.lines("datasets 512 ").size() == kSteps);
  CHECK(node.lines("missing").empty());
}

TEST_CASE("10 000 variables, all written in each step") {
  constexpr std::size_t kVariables = 10'000;
  model::Model model = patient_model();
  model.architecture.buffer_bytes = 16 << 20;
  while (model.variables.size() < kVariables) {
    model::Variable more = model.variables[0];
    more.id = static_cast<std::uint32_t>(model.variables.size());
    more.name = more.path = "v" + std::to_string(more.id);
    model.variables.push_back(more);
  }
  Node node(model, 1);
  node.start();
  for (std::int64_t step = 0; step < 3; ++step) {
    for (std::size_t v = 4; v < kVariables; ++v)
      REQUIRE(node.client(0).write(node.variable(0, "v" + std::to_string(v)), step, 0, kFour) == DC_OK);
    REQUIRE(node.client(0).end_iteration(step).code == DC_OK);
  }
  node.stop();
  CHECK(node.lines("datasets 9996 ").size() == 3);
}

TEST_CASE("a million events of one client: none is lost, and the buffer is empty afterwards") {
  constexpr int kOfAStep = 10'000;
  model::Model model = patient_model();
  model.plugins.clear();
  model.architecture.buffer_bytes = 8 << 20;
  add_event(model, "tick", {});
  Node node(model, 1);
  node.start();
  for (int event = 0; event < kEvents; ++event) {
    const std::int64_t step = event / kOfAStep;
    if (event % 100 == 99)
      node.client(0).signal("tick", step);
    else
      REQUIRE(node.client(0).write(node.variable(0, "small"), step, event % kOfAStep, kFour) == DC_OK);
  }
  const std::int64_t last = kEvents / kOfAStep - 1;
  REQUIRE(node.client(0).end_iteration(last).code == DC_OK);
  REQUIRE(node.client(0).flush(last, 60'000).code == DC_OK);
  while (node.client(0).status().events_waiting > 0) std::this_thread::yield();  // a slot is given back after the answer
  const dc_status_t status = node.client(0).status();
  CHECK(status.writes == kEvents / 100 * 99);
  CHECK(status.last_durable == last);
  CHECK(status.buffer_used_bytes == 0);
}

TEST_CASE("steps of nothing, and of 90 % of the buffer, in turn") {
  model::Model model = patient_model();
  model.architecture.buffer_bytes = 1 << 20;
  Node node(model, 1);
  node.start();
  constexpr std::int64_t kValues = (1 << 20) * 9 / 10 / 8;
  const std::vector<double> values(kValues, 1.0);
  node.client(0).shapes().set_parameter("n", kValues);
  for (std::int64_t step = 0; step < 60; ++step) {
    if (step % 3 == 0) REQUIRE(node.client(0).write(node.variable(0, "vec"), step, 0, values.data()) == DC_OK);
    REQUIRE(node.client(0).end_iteration(step).code == DC_OK);
  }
  REQUIRE(node.client(0).flush(59, 60'000).code == DC_OK);
  node.stop();
  CHECK(node.lines("datasets 1 vec:0.0=" + std::to_string(kValues * 8) + ":").size() == 20);
}

}  // namespace damaris::test
