// Blocks on their way through arena, lane, intake and ledger, in a region of one client.
#include <algorithm>

#include "model/region_scenario.hpp"

namespace damaris::explorer {
namespace {

class BlocksScenario : public RegionScenario {
 public:
  using RegionScenario::RegionScenario;

  std::vector<std::function<void()>> threads() override {
    infos();
    return {[this] { write_all(); }, [this] { serve(); }};
  }
  void check_end() override { check_walk(); }

 private:
  void write_all() {
    for (int step = 0; step < how_.steps; ++step) {
      BlockHeader* block;
      while ((block = try_write(step)) == nullptr) wait_for_change();
      while (!writer_.has_room()) wait_for_change();
      publish_block(block);
    }
  }

  void serve() {
    std::vector<server::HeldBlock> held;
    for (int step = 0; step < how_.steps; ++step) {
      if (!wait_for(step, held)) break;
      if (static_cast<int>(held.size()) < how_.held && step + 1 < how_.steps) continue;
      if (how_.last_first) std::reverse(held.begin(), held.end());
      for (const server::HeldBlock& block : held) release(block);
      held.clear();
    }
  }
  // False when the client is dead and has left nothing more.
  bool wait_for(int step, std::vector<server::HeldBlock>& held) {
    server::HeldBlock block;
    while (!try_take(step, block)) {
      if (is_dead(0)) return false;
      wait_for_change();
    }
    held.push_back(block);
    return true;
  }
};

class TurnsScenario : public RegionScenario {
 public:
  using RegionScenario::RegionScenario;

  std::vector<std::function<void()>> threads() override {
    infos();
    return {[this] { take_turns(); }};
  }
  void check_end() override { check_walk(); }

 private:
  // Holes at both ends, neighbours that merge, a cancelled block, and an arena that is all free again.
  void take_turns() {
    server::HeldBlock first, second;
    for (int step = 0; step + 1 < how_.steps; step += 2) {
      publish_block(try_write(step));
      publish_block(try_write(step + 1));
      expect(try_take(step, first) && try_take(step + 1, second), "what was handed over is there");
      release(step % 4 == 0 ? second : first);
      if (BlockHeader* spare = arena_.try_reserve(kDataBytes, kForm)) arena_.cancel(*spare);
      release(step % 4 == 0 ? first : second);
      arena_.largest_hole_bytes();
    }
  }
};

// A question and its answer, of a client that may stop waiting at any moment.
class QuestionScenario : public RegionScenario {
 public:
  using RegionScenario::RegionScenario;

  std::vector<std::function<void()>> threads() override {
    infos();
    return {[this] { ask(); }, [this] { serve(); }};
  }
  void check_end() override { expect(arena_.used_bytes() == 0, "the block comes back, answered or given up"); }

 private:
  static constexpr std::byte kAnswer{0x77};

  void ask() {
    BlockHeader* block = arena_.try_reserve(kDataBytes, kForm);
    shm::Message event = event_of(0);
    event.block_offset = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(block) - region_.at(0));
    shm::publish_block(*block, BlockState::requested, writer_, event);
    const bool patient = block->state.load(std::memory_order_acquire) == static_cast<std::uint32_t>(BlockState::answered);
    if (!patient && shm::abandon_read(*block)) return;
    expect(shm::data_of(block, kForm)[0] == kAnswer, "an answer is whole");
    arena_.cancel(*block);
  }

  void serve() {
    shm::Message event;
    while (!reader_.try_take(event)) wait_for_change();
    auto* block = reinterpret_cast<BlockHeader*>(region_.at(event.block_offset));
    const server::HeldBlock held = {0, event.block_offset, block->size_bytes.load()};
    ledger_.hold(held);
    shm::data_of(block, kForm)[0] = kAnswer;
    ledger_.answer(held);
  }
};

}  // namespace

Make question() { return maker<QuestionScenario>(Blocks{}); }
Make blocks(const Blocks& how) { return maker<BlocksScenario>(how); }
Make one_after_the_other(int steps) {
  Blocks how;
  how.steps = steps;
  return maker<TurnsScenario>(how);
}

}  // namespace damaris::explorer
