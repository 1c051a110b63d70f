#include <catch2/catch.hpp>

#include "core/shm/block.hpp"
#include "core/shm/sizes.hpp"

using namespace damaris;
using shm::lane_capacity;

namespace {

model::Model with(std::size_t variables, std::uint64_t buffer_bytes = std::uint64_t{1} << 30) {
  model::Model model;
  model.architecture.buffer_bytes = buffer_bytes;
  model.variables.resize(variables);
  return model;
}

}  // namespace

TEST_CASE("a lane has room for two steps of all enabled variables and events, in a power of two") {
  model::Model model = with(2000);
  CHECK(shm::step_messages(model) == 2003);  // the end of the step, its time, a flush
  CHECK(lane_capacity(model, 1) == 4096);
  model.events.resize(46);  // 2 x 2049
  CHECK(lane_capacity(model, 1) == 8192);
  for (std::size_t i = 0; i < 1100; ++i) model.variables[i].enabled = false;
  CHECK(lane_capacity(model, 1) == 2048);
}

TEST_CASE("a lane has at least 1024 messages, and at most those of <lanes events>") {
  CHECK(lane_capacity(with(0), 1) == 1024);
  CHECK(lane_capacity(with(500), 1) == 1024);
  CHECK(lane_capacity(with(600'000), 1) == 1u << 20);
}

TEST_CASE("a lane has no more messages than its arena can have blocks") {
  // 10 000 variables need 32 768 messages.
  CHECK(lane_capacity(with(10'000, 64 << 20), 1) == 32768);
  CHECK(lane_capacity(with(10'000, 64 << 20), 128) == (64 << 20) / 128 / shm::kMinBlock);
  model::Model threads = with(10'000, 64 << 20);
  threads.architecture.threads = 16;
  CHECK(lane_capacity(threads, 4) == (64 << 20) / 64 / shm::kMinBlock);
  CHECK(lane_capacity(with(10'000, 1 << 20), 128) == 1024);
}

TEST_CASE("the number in the XML takes precedence") {
  model::Model model = with(2000);
  model.architecture.lane_messages = 16;
  CHECK(lane_capacity(model, 1) == 16);
}

TEST_CASE("where the number of clients is not known yet a lane is sized as for one") {
  CHECK(lane_capacity(with(10'000, 64 << 20), 0) == lane_capacity(with(10'000, 64 << 20), 1));
}
