// Blocks and the two threads of a server: their way through both, a server that is killed while it releases them, and readers that walk an arena
// beside its client.
#include <array>
#include <new>
#include <optional>
#include <variant>

#include "core/shm/steps.hpp"
#include "model/region_scenario.hpp"
#include "server/handover.hpp"

namespace damaris::explorer {
namespace {

// From a client to the intake thread, to the work thread, and back; the arena has room for one block beside one that stays.
class RoundTripScenario : public RegionScenario {
 public:
  RoundTripScenario(std::byte* memory, const Blocks& how) : RegionScenario(memory, how) {
    arena_.try_reserve(kDataBytes, kForm);
    const OnWatchedHeap heap;
    handover_ = new (memory + kHandoverOffset) server::Handover;
  }
  ~RoundTripScenario() override { handover_->~Handover(); }
  RoundTripScenario(const RoundTripScenario&) = delete;
  RoundTripScenario& operator=(const RoundTripScenario&) = delete;

  std::vector<std::function<void()>> threads() override {
    infos();
    return {[this] { write_all(); }, [this] { take_in(); }, [this] { work(); }};
  }

 private:
  static constexpr std::size_t kHandoverOffset = kHeapOffset - 8192;
  static_assert(sizeof(server::Handover) <= 8192);

  void write_all() {
    for (int step = 0; step < how_.steps; ++step) {
      BlockHeader* block;
      while ((block = try_write(step)) == nullptr) wait_for_change();
      publish_block(block);
    }
  }
  void take_in() {
    for (int step = 0; step < how_.steps; ++step) {
      server::HeldBlock held;
      while (!try_take(step, held)) wait_for_change();
      server::ServeRead job;
      job.request.block = held;
      server::Job any = std::move(job);
      expect(handover_->jobs.try_push(any), "there is room");
      std::optional<server::Answer> answer;
      while (!(answer = handover_->answers.try_pop())) wait_for_change();
      const server::HeldBlock done = std::get<server::ReadServed>(*answer).block;
      handed_.erase(reinterpret_cast<BlockHeader*>(region_.at(done.offset)));
      ledger_.release(done);
    }
  }
  void work() {
    for (int step = 0; step < how_.steps; ++step) {
      std::optional<server::Job> job;
      while (!(job = handover_->jobs.try_pop())) wait_for_change();
      const server::HeldBlock held = std::get<server::ServeRead>(*job).request.block;
      const std::byte* data = shm::data_of(reinterpret_cast<BlockHeader*>(region_.at(held.offset)), kForm);
      expect(data[0] == mark(step) && data[kDataBytes - 1] == mark(step), "the work side reads what the client wrote");
      server::Answer answer = server::ReadServed{held};
      handover_->answers.try_push(answer);
    }
  }

  server::Handover* handover_ = nullptr;
};

// Two blocks of one step: the work thread stores them, the intake thread releases them and moves the frontier.
class SettlingScenario : public RegionScenario {
 public:
  SettlingScenario(std::byte* memory, const Blocks& how) : RegionScenario(memory, how) {
    {
      const OnWatchedHeap heap;
      answers_ = new (memory + kHeapOffset - 4096) server::Ring<int>(2);
    }
    shm::record_time(region_.header(), 0, 0.5);
    for (server::HeldBlock& held : held_) {
      BlockHeader* block = try_write(0);
      publish_block(block);
      held = {0, static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(block) - region_.at(0)), block->size_bytes.load()};
      ledger_.hold(held);
    }
  }
  std::vector<std::function<void()>> threads() override {
    return {[this] { settle(); }, [this] { store(); }};
  }
  // As a recovery would go on: what it finds of the step replaces what is stored.
  void check_end() override {
    const shm::RegionHeader& header = region_.header();
    const shm::FinishedSteps settled = shm::finished_steps(header);
    std::size_t found = 0;
    const shm::LaneSpan& span = region_.span(0);
    shm::walk_arena(region_.at(span.arena_offset), span.arena_bytes, [&](BlockHeader& block, std::uint64_t) {
      found += shm::state_of(block) == BlockState::published && !settled.contains(block.step) ? 1 : 0;
    });
    expect(found == 0 || found == held_.size(), "a recovery finds all blocks of a step or none");
    expect(found > 0 || stored_, "what a recovery does not find is stored");
    expect(found > 0 || shm::known_times(header).empty(), "a stored step is not opened again");
  }

 private:
  void store() {
    stored_ = true;  // on the disk
    int answer = 1;
    answers_->try_push(answer);
  }
  void settle() {
    while (!answers_->try_pop()) wait_for_change();
    shm::RegionHeader& header = region_.header();
    shm::begin_release(header, 0);
    for (const server::HeldBlock& held : held_) ledger_.release(held);
    shm::publish_processed(header, 0);
    shm::end_release(header);
  }

  server::Ring<int>* answers_ = nullptr;
  std::array<server::HeldBlock, 2> held_;
  bool stored_ = false;
};

// Another process walks the arena that a client fills, and looks into its lane: as recovery does while clients of a dead server live.
class WalkingScenario : public RegionScenario {
 public:
  using RegionScenario::RegionScenario;

  std::vector<std::function<void()>> threads() override {
    return {[this] { write_all(); }, [this] { walk(); }};
  }

 private:
  void write_all() {
    if (how_.last_first) return merge();
    for (int step = 0; step < how_.steps; ++step) publish_block(try_write(step));
  }
  // Two small blocks become one hole, behind which a third one lies.
  void merge() {
    constexpr std::uint64_t kSmall = 128;
    BlockHeader* first = arena_.try_reserve(kSmall, kForm);
    BlockHeader* second = arena_.try_reserve(kSmall, kForm);
    arena_.try_reserve(kSmall, kForm);
    arena_.cancel(*first);
    arena_.cancel(*second);
    arena_.largest_hole_bytes();
  }
  void walk() {
    const shm::LaneSpan& span = region_.span(0);
    const bool sound = shm::walk_arena(region_.at(span.arena_offset), span.arena_bytes, [&](BlockHeader& block, std::uint64_t) {
      if (shm::state_of(block) == BlockState::published)
        expect(shm::data_of(&block, kForm)[kDataBytes - 1] == mark(block.step), "a published block is whole");
    });
    expect(sound, "the arena can be walked at any moment");
    std::int64_t step = 0;
    reader_.for_each_waiting([&](const shm::Message& event) { expect(event.step == step++, "the messages that wait are whole"); });
  }
};

}  // namespace

Make round_trip() {
  Blocks how;
  how.steps = 2;
  return maker<RoundTripScenario>(how);
}
Make settling() { return maker<SettlingScenario>(Blocks{}); }
Make walking(bool merges) {
  Blocks how;
  how.steps = 2;
  how.last_first = merges;
  return maker<WalkingScenario>(how);
}

}  // namespace damaris::explorer
