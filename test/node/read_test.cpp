// Reading back: the question travels to the server's storage, the answer comes with the release of the block.
#include "node.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "core/shm/lane.hpp"

namespace damaris::test {
namespace {

model::Model reading_model() {
  model::Model model = node_model();
  add_recorder(model, true);
  return model;
}

std::int32_t repeated(int byte) {
  std::int32_t value = 0;
  std::memset(&value, byte, sizeof value);
  return value;
}

TEST_CASE("a read fills the array and says whose block of which step it is") {
  Node node(reading_model(), 2);
  node.start();
  std::array<std::int32_t, 4> values = {};
  node.client(1).read(node.variable(1, "small"), 5, 2, {values.data()});
  for (const std::int32_t value : values) CHECK(value == repeated(5));
  const std::int64_t offsets[] = {2, 0};
  node.client(0).shapes().set_position("tile", 2, offsets);
  std::array<float, 6> tile = {};
  node.client(0).read(node.variable(0, "tile"), 6, 0, {tile.data()});
  node.stop();
  CHECK(node.lines("read") == std::vector<std::string>{"read small step 5 source 1 block 2 bytes 16 4",
                                                       "read tile step 6 source 0 block 0 bytes 24 2@2 3@0"});
}

TEST_CASE("ghost zones are not requested and stay unchanged, even in an array with strides") {
  model::Model model = reading_model();
  model.layouts[2].ghost = {{model::Expression::parse("0"), model::Expression::parse("1")},
                            {model::Expression::parse("1"), model::Expression::parse("0")}};
  Node node(model, 1);
  node.start();
  std::array<std::int32_t, 6> tile;
  tile.fill(-1);
  node.client(0).read(node.variable(0, "tile"), 7, 0, {tile.data()});
  const std::int32_t seven = repeated(7);
  CHECK(tile == std::array<std::int32_t, 6>{-1, seven, seven, -1, -1, -1});
  std::array<std::int32_t, 12> wide;
  wide.fill(-1);
  const std::ptrdiff_t strides[] = {24, 8};
  node.client(0).read(node.variable(0, "tile"), 7, 0, {wide.data(), DC_FLOAT32, 2, nullptr, strides});
  CHECK(wide == std::array<std::int32_t, 12>{-1, -1, seven, -1, seven, -1, -1, -1, -1, -1, -1, -1});
  node.stop();
  CHECK(node.lines("read")[0] == "read tile step 7 source 0 block 0 bytes 8 1 2");
}

TEST_CASE("a read opens and ends no step: its step is an earlier run's") {
  Node node(reading_model(), 1);
  node.start();
  std::array<std::int32_t, 4> values = {};
  node.client(0).read(node.variable(0, "small"), 100, 0, {values.data()});
  CHECK(node.client(0).write(node.variable(0, "small"), 1, 0, values.data()) == DC_OK);
  node.client(0).read(node.variable(0, "small"), 100, 0, {values.data()});
  CHECK(node.client(0).write(node.variable(0, "small"), 1, 1, values.data()) == DC_OK);
  CHECK(node.client(0).end_iteration(1).code == DC_OK);
  CHECK(node.client(0).flush(1, 60'000).code == DC_OK);
  node.stop();
  CHECK(node.lines(" complete ").size() == 1);
}

TEST_CASE("what the storage reports about a step that it does not have is the reader's error, and the run continues") {
  Node node(reading_model(), 1);
  node.start();
  std::array<std::int32_t, 4> values = {7, 7, 7, 7};
  const Error error = error_of([&] { node.client(0).read(node.variable(0, "small"), 13, 0, {values.data()}); });
  CHECK(error.code() == DC_E_NOT_STORED);
  CHECK(error.sentence() == "plugin 'recorder' failed in on_read of 'small' of step 13: nobody stored step 13");
  CHECK(values == std::array<std::int32_t, 4>{7, 7, 7, 7});
  CHECK(node.client(0).status().first_error == DC_OK);
  CHECK(node.stop().code == DC_OK);
}

TEST_CASE("the last step can be that of a variable or of the run") {
  Node node(reading_model(), 1);
  node.start();
  CHECK(node.client(0).last_step(nullptr) == 42);
  CHECK(node.client(0).last_step(&node.variable(0, "tile")) == 2);
  node.stop();
}

TEST_CASE("without a storage that can read, the message names the file and the remedy") {
  Node node(node_model(), 1);
  node.start();
  std::array<std::int32_t, 4> values = {};
  const Error error = error_of([&] { node.client(0).read(node.variable(0, "small"), 1, 0, {values.data()}); });
  CHECK(error.code() == DC_E_CONFIG);
  CHECK(error.sentence().find("node.xml") != std::string::npos);
  CHECK(error.sentence().find("restart=") != std::string::npos);
  CHECK(error_of([&] { node.client(0).last_step(nullptr); }).code() == DC_E_CONFIG);
  node.stop();
}

TEST_CASE("a read without an answer ends within its time-out, and its memory is released with the answer") {
  model::Model model = reading_model();
  model.architecture.read_timeout_ms = 200;  // that of the buffer is another one
  Node node(model, 1);
  std::array<std::int32_t, 4> values = {7, 7, 7, 7};
  const Error error = error_of([&] { node.client(0).read(node.variable(0, "small"), 5, 0, {values.data()}); });
  CHECK(error.code() == DC_E_TIMEOUT);
  CHECK(error.sentence().find("'small' of step 5 is not read after 200 ms: waited for server 0 on host") == 0);
  CHECK(error.sentence().find("<server read-timeout=...>") != std::string::npos);
  CHECK(node.client(0).status().buffer_used_bytes > 0);
  while (node.server().poll()) {
  }
  CHECK(node.lines("read").size() == 1);
  CHECK(node.client(0).status().buffer_used_bytes == 0);
  CHECK(values == std::array<std::int32_t, 4>{7, 7, 7, 7});
}

TEST_CASE("an array with a position that is larger than the buffer is read in parts, each element once, ghost zones left alone") {
  model::Model model = reading_model();
  model.architecture.buffer_bytes = 64 << 10;
  model.layouts[2].dimensions = {model::Expression::parse("600"), model::Expression::parse("n")};
  model.layouts[2].global = {model::Expression::parse("700"), model::Expression::parse("2*n")};
  model.layouts[2].ghost = {{model::Expression::parse("1"), model::Expression::parse("0")},
                            {model::Expression::parse("0"), model::Expression::parse("1")}};
  Node node(model, 1);
  node.start();
  const std::int64_t n = GENERATE(50, 6'000);  // several rows fit into the buffer, or not one
  node.client(0).shapes().set_parameter("n", n);
  const std::int64_t place[] = {5, 7};
  node.client(0).shapes().set_position("tile", 2, place);
  std::vector<std::int32_t> values(static_cast<std::size_t>(600 * n), -1);
  node.client(0).read(node.variable(0, "tile"), 7, 0, {values.data()});
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < 600; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      wrong += values[static_cast<std::size_t>(i * n + j)] == (i == 0 || j == n - 1 ? -1 : repeated(7)) ? 0 : 1;
  CHECK(wrong == 0);
  CHECK(node.client(0).status().buffer_used_bytes == 0);
  node.stop();
  std::uint64_t bytes = 0;
  for (const std::string& line : node.lines("read tile")) bytes += std::stoull(line.substr(line.find("bytes ") + 6));
  CHECK(bytes == static_cast<std::uint64_t>(599 * (n - 1) * 4));
  CHECK(node.lines("read tile").front().find("@5") != std::string::npos);
}

TEST_CASE("a part of an array without a position says what of the block is before and behind it") {
  Node node(reading_model(), 1);
  node.start();
  constexpr std::int64_t kCount = 1 << 18;  // 2 MiB, twice the buffer
  node.client(0).shapes().set_parameter("n", kCount);
  std::vector<double> values(kCount);
  node.client(0).read(node.variable(0, "vec"), 5, 0, {values.data()});
  double five = 0;
  std::memset(&five, 5, sizeof five);
  CHECK(std::count(values.begin(), values.end(), five) == kCount);
  node.stop();
  std::int64_t next = 0;
  for (const std::string& line : node.lines("read vec")) {
    std::int64_t extent = 0, before = 0, behind = 0;
    REQUIRE(std::sscanf(line.c_str(), "read vec step 5 source 0 block 0 bytes %*d %ld after %ld before %ld", &extent, &before,
                        &behind) == 3);
    CHECK(before == next);
    CHECK(before + extent + behind == kCount);
    next += extent;
  }
  CHECK(next == kCount);
}

TEST_CASE("an open step that holds the buffer leaves no room to read, and the message says what to do") {
  model::Model model = reading_model();
  model.architecture.buffer_timeout_ms = 60'000;  // for the server, which stores the step that has ended
  Node node(model, 1);
  node.start();
  node.client(0).shapes().set_parameter("n", 120'000);
  std::vector<double> values(120'000);
  CHECK(node.client(0).write(node.variable(0, "vec"), 1, 0, values.data()) == DC_OK);
  const Error error = error_of([&] { node.client(0).read(node.variable(0, "vec"), 5, 0, {values.data()}); });
  CHECK(error.code() == DC_E_FULL);
  CHECK(error.sentence().find("read before writing") != std::string::npos);
  CHECK(node.client(0).end_iteration(1).code == DC_OK);
  node.client(0).read(node.variable(0, "vec"), 5, 0, {values.data()});
  node.stop();
}

TEST_CASE("wrong arrays, blocks and steps are refused before the server is asked") {
  Node node(reading_model(), 1);
  std::array<std::int32_t, 4> values = {};
  const std::int64_t five[] = {5};
  client::Variable& small = node.variable(0, "small");
  CHECK(error_of([&] { node.client(0).read(small, -1, 0, {values.data()}); }).code() == DC_E_ARGUMENT);
  CHECK(error_of([&] { node.client(0).read(small, 1, -1, {values.data()}); }).code() == DC_E_ARGUMENT);
  CHECK(error_of([&] { node.client(0).read(small, 1, 0, {nullptr}); }).code() == DC_E_ARGUMENT);
  CHECK(error_of([&] { node.client(0).read(small, 1, 0, {values.data(), DC_FLOAT32}); }).code() == DC_E_TYPE);
  CHECK(error_of([&] { node.client(0).read(small, 1, 0, {values.data(), DC_INT32, 1, five}); }).code() == DC_E_SHAPE);
  CHECK(node.client(0).status().events_waiting == 0);
}

// A client may die, or be damaged, between any two of its instructions: the server reads what is left of it with care.
TEST_CASE("an invalid read request ends its client, not the server") {
  Node node(reading_model(), 2);
  const shm::LaneSpan span = node.region().span(0);
  shm::Arena arena(node.region().at(span.arena_offset), span.arena_bytes, node.region().lane(0));
  shm::LaneWriter lane(node.region().lane(0), node.region().lane_messages());
  shm::BlockHeader* block = arena.try_reserve(shm::request_bytes(16), {1, 0});
  block->data_bytes = GENERATE(std::uint64_t{16}, std::uint64_t{17}, std::uint64_t{2000});
  block->step = 5;
  block->variable = 0;
  block->source = 0;
  block->block = 0;
  shm::Lists(*block, {1, 0}).extents()[0] = 4;
  const bool sound = block->data_bytes == 16;
  block->state.store(static_cast<std::uint32_t>(shm::BlockState::requested));
  shm::Message event = {};
  event.kind = shm::MessageKind::read;
  event.step = 5;
  event.block_offset = span.arena_offset;
  lane.try_push(event);
  lane.try_push(event);  // the same block once more
  while (node.server().poll()) {
  }
  CHECK(node.lines("read").size() == (sound ? 1 : 0));
  CHECK(node.region().slot(0).state.load() == static_cast<std::uint32_t>(shm::SlotState::dead));
  node.start();
  std::array<std::int32_t, 4> values = {};
  node.client(1).read(node.variable(1, "small"), 5, 0, {values.data()});
  CHECK(values[0] == repeated(5));
}

}  // namespace
}  // namespace damaris::test
