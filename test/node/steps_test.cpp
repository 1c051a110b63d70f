#include "core/shm/steps.hpp"
#include "node.hpp"

namespace damaris::test {
namespace {

model::Model recorded() {
  model::Model model = node_model();
  add_recorder(model);
  return model;
}

void poll_until_idle(Node& node) {
  while (node.server().poll()) {
  }
}

TEST_CASE("rule 2: a step completes when every client has ended it, and lists the clients that wrote nothing") {
  Node node(recorded(), 3);
  node.client(0).write(node.variable(0, "small"), 5, 0, kFour);
  node.client(0).end_iteration(5);
  node.client(1).end_iteration(5);
  poll_until_idle(node);
  CHECK(node.lines("step").empty());
  node.client(2).end_iteration(5);
  poll_until_idle(node);
  REQUIRE(node.lines("step").size() == 1);
  CHECK(node.lines("step")[0].find("small:0.0=16:10 absent:1 absent:2") != std::string::npos);
  CHECK(node.client(0).status().last_complete == 5);
  CHECK(node.client(0).status().last_durable == 5);
}

TEST_CASE("rule 2: an event of a later step ends all earlier ones of that client") {
  Node node(recorded(), 1);
  node.client(0).write(node.variable(0, "small"), 1, 0, kFour);
  poll_until_idle(node);
  CHECK(node.lines("step").empty());
  node.client(0).write(node.variable(0, "small"), 4, 0, kFour);
  poll_until_idle(node);
  CHECK(node.lines("step 1").size() == 1);
  CHECK(node.lines("step 4").empty());
  CHECK(node.client(0).status().last_complete == 3);
}

TEST_CASE("rule 2: finalize ends everything") {
  Node node(recorded(), 1);
  node.start();
  node.client(0).write(node.variable(0, "small"), 7, 0, kFour);
  CHECK(node.client(0).finalize().code == DC_OK);
  CHECK(node.lines("step 7").size() == 1);
}

TEST_CASE("steps that go backward are refused and nothing changes") {
  Node node(node_model(), 1);
  client::Client& client = node.client(0);
  client.write(node.variable(0, "small"), 5, 0, kFour);
  const Error lower = error_of([&] { client.write(node.variable(0, "vec"), 4, 0, kFour); });
  CHECK(lower.code() == DC_E_BACKWARD);
  CHECK(lower.sentence().find("step 4 comes after step 5 of client 0") == 0);
  CHECK(error_of([&] { client.end_iteration(4); }).code() == DC_E_BACKWARD);
  client.end_iteration(5);
  const Error ended = error_of([&] { client.write(node.variable(0, "vec"), 5, 0, kFour); });
  CHECK(ended.code() == DC_E_BACKWARD);
  CHECK(ended.sentence().find("step 5") == 0);
  CHECK(error_of([&] { client.end_iteration(5); }).code() == DC_E_BACKWARD);
  CHECK(error_of([&] { client.end_iteration(-1); }).code() == DC_E_ARGUMENT);
  CHECK(error_of([&] { client.set_time(-3, 0.0); }).code() == DC_E_ARGUMENT);
}

TEST_CASE("rule 1: blocks are released when the step is processed, without any storage or other plugin") {
  Node node(node_model(), 2);
  for (std::int64_t step = 0; step < 3; ++step)
    for (int id = 0; id < 2; ++id) {
      node.client(id).write(node.variable(id, "small"), step, 0, kFour);
      node.client(id).end_iteration(step);
    }
  CHECK(node.client(0).status().buffer_used_bytes > 0);
  poll_until_idle(node);
  CHECK(node.client(0).status().buffer_used_bytes == 0);
  CHECK(node.client(1).status().buffer_used_bytes == 0);
  CHECK(node.client(1).status().last_durable == 2);
}

TEST_CASE("rule 1: an open step holds its blocks") {
  Node node(node_model(), 2);
  node.client(0).write(node.variable(0, "small"), 0, 0, kFour);
  node.client(0).end_iteration(0);
  poll_until_idle(node);
  CHECK(node.client(0).status().buffer_used_bytes > 0);
}

TEST_CASE("a thousand steps of two clients pass through a buffer that holds only a few of them") {
  model::Model model = node_model();
  model.architecture.buffer_bytes = 64 * 1024;
  model.architecture.buffer_timeout_ms = 20'000;
  add_recorder(model);
  Node node(model, 2);
  node.start();
  const std::vector<double> vec(100, 1.0);
  std::vector<std::thread> simulations;
  for (int id = 0; id < 2; ++id)
    simulations.emplace_back([&, id] {
      for (std::int64_t step = 0; step < 1000; ++step) {
        for (int block = 0; block < 5; ++block) (void)node.client(id).write(node.variable(id, "vec"), step, block, vec.data());
        (void)node.client(id).end_iteration(step);
      }
    });
  for (std::thread& simulation : simulations) simulation.join();
  node.stop();
  const auto lines = node.lines("step");
  REQUIRE(lines.size() == 1000);
  for (std::size_t step = 0; step < lines.size(); ++step)
    REQUIRE(lines[step].find("step " + std::to_string(step) + " complete 1 time -1 datasets 10 ") == 0);
}

TEST_CASE("flush returns when the step is durable, and refuses a step that this client has not ended") {
  Node node(recorded(), 2);
  node.start();
  node.client(0).write(node.variable(0, "small"), 0, 0, kFour);
  const Error open = error_of([&] { node.client(0).flush(0, 1000); });
  CHECK(open.code() == DC_E_NOT_ENDED);
  node.client(0).end_iteration(0);
  node.client(1).end_iteration(0);
  CHECK(node.client(0).flush(0, 60'000).code == DC_OK);
  CHECK(node.client(0).status().last_durable == 0);
  CHECK(node.lines("step 0").size() == 1);
}

TEST_CASE("rule 14: a flush that times out names the clients that have not ended the step") {
  Node node(recorded(), 3);
  node.start();
  node.client(0).end_iteration(2);
  node.client(2).end_iteration(2);
  const Error error = error_of([&] { node.client(0).flush(2, 50); });
  CHECK(error.code() == DC_E_TIMEOUT);
  CHECK(error.sentence().find("step 2 is not durable after 50 ms") == 0);
  CHECK(error.sentence().find("step 2 is not ended by client 1") != std::string::npos);
}

TEST_CASE("rule 14: a time-out names only the clients that are furthest behind, and the last step that they have ended") {
  Node node(recorded(), 4);
  const auto sentence = [&](int id, std::int64_t ended) {
    node.client(id).end_iteration(ended);
    while (node.server().poll()) {
    }
    return error_of([&] { node.client(0).flush(79, 50); }).sentence();
  };
  for (const int id : {2, 3}) node.client(id).end_iteration(78);  // may wait for client 1, as client 0 does
  CHECK_THAT(sentence(0, 79), Catch::Contains("; step 79 is not ended by client 1, which has ended no step yet"));
  CHECK_THAT(sentence(1, 0), Catch::Contains("; step 79 is not ended by client 1, which has ended none since step 0"));
  CHECK_THAT(sentence(1, 78),
             Catch::Contains("; step 79 is not ended by client 1, client 2, client 3, which have ended none since step 78"));
}

TEST_CASE("rule 14: a flush that times out names no client whose end of the step waits for the server or has been taken") {
  Node node(recorded(), 3);
  const auto sentence = [&] { return error_of([&] { node.client(0).flush(0, 50); }).sentence(); };
  for (const int id : {0, 1}) node.client(id).end_iteration(0);
  CHECK_THAT(sentence(), Catch::Contains("step 0 is not ended by client 2"));
  while (node.server().poll()) {
  }
  CHECK_THAT(sentence(), Catch::Contains("step 0 is not ended by client 2"));
  node.client(2).end_iteration(0);
  CHECK_THAT(sentence(), !Catch::Contains("is not ended by"));
}

TEST_CASE("a flush of a step that a server cut short, as it was asked to stop, does not call it durable") {
  Node node(recorded(), 2);
  node.client(0).end_iteration(0);
  std::thread server([&] {
    shm::RegionHeader& header = node.region().header();
    while (node.region().lane(0)->head.load() < 2)
      std::this_thread::yield();  // the flush waits; else the test's time limit ends it
    header.state.store(static_cast<std::uint32_t>(shm::RegionState::leaving));
    header.last_processed.store(0);
  });
  CHECK(error_of([&] { node.client(0).flush(0, 10'000); }).code() == DC_E_SERVER_LOST);
  server.join();
  node.region().header().state.store(static_cast<std::uint32_t>(shm::RegionState::ready));
}

TEST_CASE("a client that finalizes early does not delay the others") {
  Node node(recorded(), 2);
  node.start();
  node.client(1).write(node.variable(1, "small"), 0, 0, kFour);
  node.client(0).end_iteration(0);
  CHECK(node.client(1).finalize().code == DC_OK);
  for (std::int64_t step = 1; step < 5; ++step) {
    node.client(0).write(node.variable(0, "small"), step, 0, kFour);
    node.client(0).end_iteration(step);
  }
  CHECK(node.client(0).flush(4, 60'000).code == DC_OK);
  CHECK(node.lines("step").size() == 5);
  CHECK(node.lines("step 4")[0].find("absent:1") != std::string::npos);
}

TEST_CASE("a client that leaves without finalize says so: its step is stored, and no process waits for it") {
  Node node(recorded(), 2);
  node.start();
  node.client(0).write(node.variable(0, "small"), 0, 0, kFour);
  node.drop_client(0);
  node.client(1).end_iteration(0);
  CHECK(node.client(1).flush(0, 60'000).code == DC_OK);
  node.stop();
  CHECK_THAT(node.lines("step 0 ").at(0), Catch::Contains("datasets 1 "));
}

TEST_CASE(
    "rule 2: a client that gives up counts as dead though its process lives: no other waits for it, and what it published is "
    "stored") {
  const bool is_admitted = GENERATE(true, false);
  Node node(recorded(), 2);
  if (is_admitted) poll_until_idle(node);
  node.client(0).write(node.variable(0, "small"), 0, 0, kFour);
  node.client(0).end_session();
  node.start();
  Status report = node.client(1).end_iteration(0);
  if (const Status flushed = node.client(1).flush(0, 60'000); report.code == DC_OK) report = flushed;
  CHECK(report.code == DC_E_EARLIER_IO);
  CHECK_THAT(report.message, Catch::Contains("client 0 died"));
  CHECK(node.lines("step 0 ") ==
        std::vector<std::string>{"step 0 complete 1 time -1 datasets 1 small:0.0=16:10 absent:1 missing:0"});
}

TEST_CASE("clients that have come in time are not waited for, however long the run takes") {
  model::Model model = recorded();
  model.architecture.attach_timeout_ms = 1;
  Node node(model, 2);
  poll_until_idle(node);
  const Deadline deadline = Deadline::after_ms(300);
  while (!deadline.expired()) node.server().poll();
  CHECK(node.stop().code == DC_OK);
}

}  // namespace
}  // namespace damaris::test
