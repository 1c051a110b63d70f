// What a server that died leaves behind, and the one that recovers it. The first one just stops being polled, at any point.
// Used by: tests of recovery, one thread.
// Before it: node.hpp. After it: the lines of the storage.
#pragma once

#include <cstddef>
#include <fstream>

#include "core/shm/arena.hpp"
#include "node.hpp"

namespace damaris::test {

constexpr int kMany = 90;  // blocks of 128 bytes: nearly all of 12 KiB

// The region of a server that died, its clients with it.
class Remains {
 public:
  explicit Remains(int clients = 2, const std::vector<std::pair<std::string, std::string>>& settings = {},
                   const std::string& spill = "", bool pooled = false) {
    model::Model model = node_model();
    model.architecture.pooled = pooled;
    model.variables[0].on_full = model::OnFull::skip;
    if (!spill.empty()) {
      model.architecture.buffer_bytes = 12 * 1024;
      model.architecture.spill = spill;
      model.architecture.spill_bytes = 1 << 30;
    }
    add_event(model, "look", {DC_SCOPE_CORE});
    // Without the plugin, which knows of one server at a time.
    const auto before = std::make_shared<model::Model>(model);
    add_recorder(model, true, settings);
    model_ = std::make_shared<model::Model>(model);
    ::setenv("DAMARIS_TEST_LOG", folder_.file("before").c_str(), 1);
    region_ = server::make_region(*model_, "<simulation/>", clients, {"", "host", 0, false});
    first_ = std::make_unique<server::Server>(before, region_, std::make_unique<server::SingleCoordinator>(), sources_);
    for (int id = 0; id < clients; ++id) {
      client::try_claim(*region_, static_cast<std::uint32_t>(id), id);
      clients_.push_back(std::make_unique<client::Client>(region_, model_, static_cast<std::uint32_t>(id), id));
    }
  }
  client::Client& client(int id) { return *clients_[static_cast<std::size_t>(id)]; }
  void write(int id, std::int64_t step, int block = 0) { client(id).write(client(id).shapes().find("small"), step, block, kFour); }
  // kMany blocks of client 0 in step 0. Returns how many of them the server has spilled.
  std::uint64_t write_many() {
    for (int block = 0; block < kMany; ++block) write(0, 0, block);
    poll();
    return region_->header().spilled_blocks.load();
  }
  void poll() {
    for (int pass = 0; pass < 20; ++pass) first_->poll();
  }
  shm::Region& region() { return *region_; }
  void republish_one_that_was_spilled() {
    shm::BlockHeader& block = first_block(shm::BlockState::released, [](const shm::BlockHeader&) { return true; });
    block.state.store(static_cast<std::uint32_t>(shm::BlockState::published));
  }
  // Block `number` of client 0 in step 0 becomes a second copy of one that was spilled.
  void repeat_one_that_was_spilled(int number) {
    const shm::BlockHeader& spilled = first_block(shm::BlockState::released, [](const shm::BlockHeader&) { return true; });
    first_block(shm::BlockState::published, [&](const shm::BlockHeader& block) { return block.block == number; }).block =
        spilled.block;
  }

  // As `damaris recover` does. Returns the lines of the storage.
  std::vector<std::string> recover(bool ignore_missing_spill = false) {
    ::setenv("DAMARIS_TEST_LOG", folder_.file("after").c_str(), 1);
    server::Server second(model_, region_, std::make_unique<server::SingleCoordinator>(), {});
    second.adopt(ignore_missing_spill);
    result_ = second.run();
    given_up_ = second.adoption()->given_up();
    std::ifstream log(folder_.file("after.s0"));
    std::vector<std::string> found;
    for (std::string line; std::getline(log, line);)
      if (line.rfind("step", 0) == 0 || line.rfind("event", 0) == 0) found.push_back(line);
    return found;
  }
  const Status& result() const { return result_; }
  std::uint64_t given_up() const { return given_up_; }
  // What hindered the storage is mended.
  void mend() {
    model::Model model = *model_;
    model.plugins[0].settings.clear();
    model_ = std::make_shared<model::Model>(model);
  }

 private:
  template <class Is>
  shm::BlockHeader& first_block(shm::BlockState state, Is&& is) {
    const shm::LaneSpan span = region_->span(0);
    shm::BlockHeader* found = nullptr;
    shm::walk_arena(region_->at(span.arena_offset), span.arena_bytes, [&](shm::BlockHeader& block, std::uint64_t) {
      if (found == nullptr && block.state.load() == static_cast<std::uint32_t>(state) && is(block)) found = &block;
    });
    REQUIRE(found != nullptr);
    return *found;
  }

  TempFolder folder_;
  std::vector<std::int32_t> sources_ = {0, 1};
  std::shared_ptr<const model::Model> model_;
  std::shared_ptr<shm::Region> region_;
  std::unique_ptr<server::Server> first_;
  std::vector<std::unique_ptr<client::Client>> clients_;
  Status result_;
  std::uint64_t given_up_ = 0;
};

}  // namespace damaris::test
