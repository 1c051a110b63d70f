// Reading back: the question travels to the server's storage, the answer comes with the release of the block.
#include "node.hpp"

#include <array>
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
  CHECK(node.client(0).flush(1, 5'000).code == DC_OK);
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

TEST_CASE("a read without an answer ends within the buffer's time-out, and its memory is released with the answer") {
  Node node(reading_model(), 1);
  std::array<std::int32_t, 4> values = {7, 7, 7, 7};
  const Error error = error_of([&] { node.client(0).read(node.variable(0, "small"), 5, 0, {values.data()}); });
  CHECK(error.code() == DC_E_TIMEOUT);
  CHECK(error.sentence().find("'small' of step 5 is not read after 300 ms") == 0);
  CHECK(node.client(0).status().buffer_used_bytes > 0);
  while (node.server().poll()) {
  }
  CHECK(node.lines("read").size() == 1);
  CHECK(node.client(0).status().buffer_used_bytes == 0);
  CHECK(values == std::array<std::int32_t, 4>{7, 7, 7, 7});
}

TEST_CASE("an array larger than the buffer is refused at once, naming both") {
  Node node(reading_model(), 1);
  node.start();
  node.client(0).shapes().set_parameter("n", 1 << 20);
  std::vector<double> values(1 << 20);
  const Error error = error_of([&] { node.client(0).read(node.variable(0, "vec"), 5, 0, {values.data()}); });
  CHECK(error.code() == DC_E_TOO_LARGE);
  CHECK(error.sentence().find("<buffer size=...> in node.xml") != std::string::npos);
  node.stop();
}

TEST_CASE("an open step that holds the buffer leaves no room to read, and the message says what to do") {
  Node node(reading_model(), 1);
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
