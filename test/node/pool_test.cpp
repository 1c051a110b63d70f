// The shared pool in a node: unequal clients, reads. Recovery: recovery_test.cpp. What happens when a process dies: test/api/detached.
#include <array>

#include "core/shm/block.hpp"
#include "core/shm/region_names.hpp"
#include "node.hpp"

namespace damaris::test {
namespace {

constexpr std::uint64_t kVecBytes = 896;  // 100 numbers and a header of a line

model::Model pooled_model() {
  model::Model model = node_model();
  model.architecture.buffer_bytes = 64 * 1024;
  model.architecture.buffer_timeout_ms = 20'000;
  model.architecture.finalize_timeout_ms = 20'000;
  model.architecture.pooled = true;
  add_recorder(model, true);
  return model;
}

int write(Node& node, int id, std::int64_t step, int block, std::int64_t values) {
  node.client(id).shapes().set_parameter("n", values);
  return node.client(id).write(node.variable(id, "vec"), step, block, std::vector<double>(static_cast<std::size_t>(values)).data());
}

}  // namespace

TEST_CASE("in a shared pool one client may need nearly all, and the next step another") {
  Node node(pooled_model());
  node.start();
  for (std::int64_t step = 0; step < 20; ++step) {
    const int large = static_cast<int>(step % 2);
    CHECK(write(node, large, step, 0, 6'000) == DC_OK);
    CHECK(write(node, 1 - large, step, 0, 10) == DC_OK);
    for (int id : {0, 1}) CHECK(node.client(id).end_iteration(step).code == DC_OK);
  }
  CHECK(node.client(0).flush(19, 20'000).code == DC_OK);
  node.stop();
  CHECK(node.lines("datasets 2 ").size() == 20);
}

TEST_CASE("dc_status describes the pool as a whole, once, whatever the number of threads") {
  model::Model model = pooled_model();
  model.architecture.threads = 2;
  Node node(model);
  CHECK(write(node, 0, 0, 0, 100) == DC_OK);
  for (int id : {0, 1}) {
    const dc_status_t status = node.client(id).status();
    CHECK(status.buffer_bytes == 64 * 1024);
    CHECK(status.buffer_used_bytes == (id == 0 ? kVecBytes : 0));  // as it was when the client was last at it
  }
  CHECK(write(node, 1, 0, 0, 100) == DC_OK);
  CHECK(node.client(1).status().buffer_used_bytes == 2 * kVecBytes);
}

TEST_CASE("what does not fit into the whole pool is refused at once, what others fill waits for its time-out") {
  model::Model model = pooled_model();
  model.architecture.buffer_timeout_ms = 100;
  Node node(model);
  node.start();
  CHECK(error_of([&] { write(node, 0, 0, 0, 10'000); }).code() == DC_E_TOO_LARGE);
  CHECK(node.client(0).end_iteration(0).code == DC_OK);
  CHECK(write(node, 0, 1, 0, 6'000) == DC_OK);
  CHECK(error_of([&] { write(node, 0, 1, 1, 6'000); }).code() == DC_E_ITERATION_TOO_LARGE);
  const Error error = error_of([&] { write(node, 1, 0, 0, 6'000); });
  CHECK(error.code() == DC_E_FULL);
  CHECK(error.sentence().find("no room for 'vec' (48000 bytes) in step 0: waited 100 ms for server 0 on host") == 0);
}

TEST_CASE("what is read stays the reader's until it has it, even while others take all room that is released") {
  Node node(pooled_model());
  node.start();
  std::thread other([&] {
    for (std::int64_t step = 0; step < 300; ++step) {
      for (int block = 0; block < 8; ++block) (void)write(node, 1, step, block, 500);
      (void)node.client(1).end_iteration(step);
      (void)node.client(1).flush(step, 20'000);
    }
  });
  (void)node.client(0).end_iteration(1'000);  // does not hold up the other one's steps
  int wrong = 0;
  std::string refusal;
  for (int round = 0; round < 300 && refusal.empty(); ++round) try {
      std::array<std::int32_t, 4> values = {};
      node.client(0).read(node.variable(0, "small"), round % 10, 0, {values.data()});
      for (const std::int32_t value : values) wrong += value != 0x01010101 * (round % 10);  // as the recorder fills
    } catch (const Error& error) {
      refusal = error.sentence();
    }
  other.join();
  CHECK(refusal == "");
  CHECK(wrong == 0);
}

TEST_CASE("the room of a read request is released even if its client dies before the answer") {
  Node node(pooled_model(), 2, shm::region_name("node", shm::make_nonce(), 0, 0));
  const shm::LaneSpan& span = node.region().span(1);
  shm::Arena existing = shm::Arena::existing(node.region().at(span.arena_offset), span.arena_bytes, node.region().lane(0));
  shm::PooledArena arena(existing, node.region().pool(), node.region().memory(), 1, 100);
  shm::BlockHeader* block = arena.try_reserve(shm::request_bytes(sizeof(std::int64_t)));
  REQUIRE(block != nullptr);
  block->data_bytes = sizeof(std::int64_t);
  block->source = 1;
  shm::Message event = {};
  event.kind = shm::MessageKind::last_step;
  event.name = shm::kAnyVariable;
  event.block_offset = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(block) - node.region().at(0));
  shm::LaneWriter lane(node.region().lane(1), node.region().lane_messages());
  shm::publish_block(*block, shm::BlockState::requested, lane, event);
  node.region().memory().unlock(shm::kClientParts + 1);
  const Deadline deadline = Deadline::after_ms(30'000);
  const auto used = [&] { return node.client(0).status().buffer_used_bytes; };
  while ((used() > 0 || node.region().slot(1).state.load() != static_cast<std::uint32_t>(shm::SlotState::dead)) &&
         !deadline.expired())
    node.server().poll();
  CHECK(used() == 0);
  node.drop_client(1);
}

}  // namespace damaris::test
