#include <random>

#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "node.hpp"

namespace damaris::test {
namespace {

constexpr std::uint64_t kVecBytes = 896;  // 100 numbers and a header of a line
constexpr int kVecs = 18;                 // of them in 16 KiB

model::Model small_buffer() {
  model::Model model = node_model();
  model.architecture.buffer_bytes = 2 * 16 * 1024;  // 16 KiB for each of two clients
  return model;
}

TEST_CASE("rule 10: a dataset larger than the client's share is refused at once, with both sizes") {
  Node node(small_buffer());
  node.client(0).shapes().set_parameter("n", 10'000);
  const std::vector<double> vec(10'000);
  const Error error = error_of([&] { node.client(0).write(node.variable(0, "vec"), 0, 0, vec.data()); });
  CHECK(error.code() == DC_E_TOO_LARGE);
  CHECK(error.sentence().find("'vec' is 80000 bytes in step 0, more than the 16384 bytes of the buffer that client 0 has; give "
                              "<buffer size=...> at least ") == 0);
  CHECK(node.client(0).status().waits == 0);
  CHECK(node.client(0).status().buffer_used_bytes == 0);
}

TEST_CASE("rule 1: a step that alone fills its client's arena is refused at once") {
  Node node(small_buffer());
  const std::vector<double> vec(100);
  Error error(DC_OK, "");
  int written = 0;
  for (; error.code() == DC_OK && written < 1000; ++written) try {
      node.client(0).write(node.variable(0, "vec"), 0, written, vec.data());
    } catch (const Error& thrown) {
      error = thrown;
    }
  CHECK(error.code() == DC_E_ITERATION_TOO_LARGE);
  CHECK(error.sentence().find("step 0 of client 0 is too large for the 16384 bytes of the buffer that it has: it uses ") == 0);
  CHECK(written == kVecs + 1);
}

TEST_CASE("a full buffer blocks for its time-out and then names what it waited for") {
  Node node(small_buffer());
  node.start();
  const std::vector<double> vec(100);
  for (int block = 0; block < kVecs; ++block) node.client(0).write(node.variable(0, "vec"), 0, block, vec.data());
  node.client(0).end_iteration(0);
  const Error error = error_of([&] { node.client(0).write(node.variable(0, "vec"), 1, 0, vec.data()); });
  CHECK(error.code() == DC_E_FULL);
  CHECK(error.sentence().find("no room for 'vec' (800 bytes) in step 1: waited 300 ms for server 0 on host") == 0);
  CHECK(error.sentence().find("step 0 is not ended by client 1") != std::string::npos);
  CHECK(node.client(0).status().waits == 1);
  // Nothing is half done: once there is room, the same write works.
  node.client(1).end_iteration(0);
  CHECK(node.client(0).flush(0, 60'000).code == DC_OK);
  CHECK(node.client(0).write(node.variable(0, "vec"), 1, 0, vec.data()) == DC_OK);
}

TEST_CASE("a full buffer that waits for a client says what this has to do, in the log before the exception, once") {
  const TempFolder folder;
  configure_log(LogLevel::warning, folder.file("log"), "client 0");
  std::vector<std::string> sentences;
  {
    Node node(small_buffer());
    node.start();
    const std::vector<double> vec(100);
    for (int block = 0; block < kVecs; ++block) node.client(0).write(node.variable(0, "vec"), 0, block, vec.data());
    for (int time = 0; time < 2; ++time)
      sentences.push_back(error_of([&] { node.client(0).write(node.variable(0, "vec"), 1, 0, vec.data()); }).sentence());
  }
  configure_log(LogLevel::off, "", "");
  CHECK_THAT(
      sentences[0],
      Catch::Contains("; step 0 is not ended by client 1, which has ended no step yet; let each client end each step, also one in "
                      "which it writes nothing; if it is only slow, enlarge <buffer size=...> or its timeout"));
  std::ifstream log(folder.file("log"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(log, line);)
    if (line.find("no room for") != std::string::npos) lines.push_back(line);
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0], Catch::Contains("error") && Catch::EndsWith(sentences[0]));
}

TEST_CASE("a write that was refused with an error and not made again is missing in its step, one that was made again is not") {
  const bool again = GENERATE(false, true);
  model::Model model = small_buffer();
  add_recorder(model, true);
  Node node(model);
  node.start();
  const std::vector<double> vec(100);
  for (int block = 0; block < kVecs; ++block) node.client(0).write(node.variable(0, "vec"), 0, block, vec.data());
  node.client(0).end_iteration(0);
  CHECK(error_of([&] { node.client(0).write(node.variable(0, "vec"), 1, 0, vec.data()); }).code() == DC_E_FULL);
  node.client(1).end_iteration(0);
  CHECK(node.client(0).flush(0, 60'000).code == DC_OK);
  if (again) CHECK(node.client(0).write(node.variable(0, "vec"), 1, 0, vec.data()) == DC_OK);
  for (int id : {0, 1}) node.client(id).end_iteration(1);
  node.stop();
  REQUIRE(node.lines("step 1 ").size() == 1);
  CHECK((node.lines("step 1 ")[0].find("skipped:vec") != std::string::npos) != again);
}

TEST_CASE("waits for room lose no room: after thousands of them and a flush the buffer is empty") {
  model::Model model = small_buffer();
  model.architecture.buffer_timeout_ms = 20'000;
  Node node(model, 1);
  node.start();
  std::mt19937 random(1);
  std::vector<double> vec(600);
  for (std::int64_t step = 0; step < 3'000; ++step) {
    node.client(0).shapes().set_parameter("n", static_cast<std::int64_t>(random() % 600));
    for (int block = 0; block < 3; ++block)
      REQUIRE(node.client(0).write(node.variable(0, "vec"), step, block, vec.data()) == DC_OK);
    REQUIRE(node.client(0).end_iteration(step).code == DC_OK);
  }
  REQUIRE(node.client(0).flush(2'999, 20'000).code == DC_OK);
  const dc_status_t status = node.client(0).status();
  CHECK(status.waits > 0);
  CHECK(status.buffer_used_bytes == 0);
  CHECK(status.largest_hole_bytes == 32 * 1024 - shm::kLongestHeader);
}

TEST_CASE("an end of step that finds one of several lanes full ends nothing, and can be called again") {
  model::Model model = node_model();
  model.architecture.threads = 2;
  model.architecture.lane_messages = 4;
  Node node(model, 1);
  const std::int32_t four[4] = {1, 2, 3, 4};
  REQUIRE(node.client(0).write(node.variable(0, "small"), 0, 0, four) == DC_OK);
  std::thread second([&] {
    for (int block = 1; block < 5; ++block) (void)node.client(0).write(node.variable(0, "small"), 0, block, four);
  });
  second.join();
  CHECK(error_of([&] { (void)node.client(0).end_iteration(0); }).code() == DC_E_FULL);
  node.start();
  while (node.client(0).status().events_waiting > 0) std::this_thread::yield();
  CHECK(node.client(0).end_iteration(0).code == DC_OK);
  CHECK(node.client(0).flush(0, 60'000).code == DC_OK);
  CHECK(node.client(0).write(node.variable(0, "small"), 1, 0, four) == DC_OK);
}

TEST_CASE("a full lane blocks for its time-out and loses nothing") {
  model::Model model = node_model();
  model.architecture.lane_messages = 4;
  add_recorder(model);
  Node node(model, 1);
  const std::int32_t four[4] = {1, 2, 3, 4};
  for (int block = 0; block < 4; ++block) node.client(0).write(node.variable(0, "small"), 0, block, four);
  const Error error = error_of([&] { node.client(0).write(node.variable(0, "small"), 0, 4, four); });
  CHECK(error.code() == DC_E_FULL);
  CHECK(error.sentence().find("the lane of client 0 stayed full for 300 ms") == 0);
  node.start();
  while (node.client(0).status().events_waiting > 0) std::this_thread::yield();
  CHECK(node.client(0).write(node.variable(0, "small"), 0, 4, four) == DC_OK);
  node.client(0).end_iteration(0);
  node.stop();
  CHECK(node.lines("datasets 5").size() == 1);
}

TEST_CASE("two steps of many variables fit into a lane that the XML does not size") {
  model::Model model = node_model();
  model.architecture.buffer_bytes = 4 << 20;
  constexpr std::uint32_t kVariables = 1500;
  for (auto id = static_cast<std::uint32_t>(model.variables.size()); id < kVariables; ++id) {
    model.variables.push_back(model.variables[0]);
    model.variables.back().id = id;
    model.variables.back().name = model.variables.back().path = format("v{}", id);
  }
  Node node(model, 1);  // its server does not run: nothing is taken
  const std::int32_t four[4] = {1, 2, 3, 4};
  for (std::int64_t step = 0; step < 2; ++step) {
    for (std::uint32_t id = 4; id < kVariables; ++id) node.client(0).write(node.variable(0, format("v{}", id)), step, 0, four);
    REQUIRE(node.client(0).end_iteration(step).code == DC_OK);
  }
  CHECK(node.client(0).status().waits == 0);
  CHECK(node.client(0).status().events_waiting > 2 * (kVariables - 4));
}

TEST_CASE("rule 10: dc_status returns the largest hole and what is in use") {
  Node node(small_buffer());
  const std::vector<double> vec(100);
  const dc_status_t before = node.client(0).status();
  CHECK(before.buffer_bytes == 16 * 1024);
  CHECK(before.largest_hole_bytes == 16 * 1024 - shm::kLongestHeader);
  CHECK(before.last_complete == -1);
  node.client(0).write(node.variable(0, "vec"), 0, 0, vec.data());
  const dc_status_t after = node.client(0).status();
  CHECK(after.buffer_used_bytes == kVecBytes);
  CHECK(after.largest_hole_bytes == 16 * 1024 - kVecBytes - shm::kLongestHeader);
  CHECK(after.events_waiting == 1);
  CHECK(after.writes == 1);
}

TEST_CASE("weighted arenas give an unequal client its larger share") {
  model::Model model = small_buffer();
  model.architecture.weights = {3, 1};
  Node node(model);
  CHECK(node.client(0).status().buffer_bytes == 24 * 1024);
  CHECK(node.client(1).status().buffer_bytes == 8 * 1024);
}

}  // namespace
}  // namespace damaris::test
