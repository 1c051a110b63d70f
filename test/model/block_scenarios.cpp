// Blocks on their way through arena, lane, intake and ledger, in a region of one client.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <set>

#include "core/shm/arena.hpp"
#include "core/shm/frontier.hpp"
#include "core/shm/open_steps.hpp"
#include "core/shm/publish.hpp"
#include "model/common.hpp"
#include "server/handover.hpp"
#include "server/intake.hpp"
#include "server/ledger.hpp"

namespace damaris::explorer {
namespace {

using shm::BlockHeader;
using shm::BlockState;
using shm::LaneHeader;

constexpr std::int32_t kClient = 3;
constexpr std::uint64_t kDataBytes = 1500;  // of a block: two fit into an arena of one page
constexpr shm::Form kForm{1, 0};

model::Model model_of_bytes() {
  model::Model model;
  model::Layout layout;
  layout.name = "bytes";
  layout.type = DC_UINT8;
  layout.element_bytes = 1;
  layout.dimensions.push_back(model::Expression::constant(static_cast<std::int64_t>(kDataBytes)));
  model.layouts.push_back(layout);
  model::Variable variable;
  variable.name = variable.path = "bytes";
  model.variables.push_back(variable);
  return model;
}

// The image of a region of one client, made once.
const std::vector<std::byte>& region_image() {
  static const std::vector<std::byte> image = [] {
    shm::RegionSpec spec;
    spec.lane_messages = kRing;
    spec.buffer_bytes = shm::kPage;
    const shm::Region region = shm::Region::create(spec);
    return std::vector<std::byte>(region.at(0), region.at(0) + region.header().total_bytes);
  }();
  return image;
}

shm::Region region_in(std::byte* memory) {
  std::memmove(memory, region_image().data(), region_image().size());
  return shm::Region::attach(shm::SharedMemory::view(memory, region_image().size()));
}

// A region of one client with what that client and the server do.
class RegionScenario : public Scenario {
 public:
  RegionScenario(std::byte* memory, const Blocks& how)
      : how_(how),
        region_(region_in(memory)),
        ledger_(region_, 0),
        arena_(region_.at(region_.span(0).arena_offset), region_.span(0).arena_bytes, region_.lane(0)),
        writer_(region_.lane(0), kRing),
        reader_(region_.lane(0), kRing) {}

  std::string field(std::size_t offset) const override {
    const shm::LaneSpan& span = region_.span(0);
    if (offset == span.lane_offset + offsetof(LaneHeader, head)) return "head";
    if (offset == span.lane_offset + offsetof(LaneHeader, tail)) return "tail";
    if (offset == span.lane_offset + offsetof(LaneHeader, released)) return "released";
    if (offset < span.arena_offset) return "bytes";
    if (offset % shm::kLine == offsetof(BlockHeader, state)) return "state";
    return offset % shm::kLine == offsetof(BlockHeader, size_bytes) ? "size_bytes" : "bytes";
  }

 protected:
  static std::byte mark(std::int64_t step) { return static_cast<std::byte>(step + 1); }

  BlockHeader* try_write(std::int64_t step) {
    BlockHeader* block = arena_.try_reserve(kDataBytes, kForm);
    if (block == nullptr) return nullptr;
    expect(handed_.count(block) == 0, "a block is not handed out while it is published");
    block->data_bytes = kDataBytes;
    block->step = step;
    block->variable = 0;
    block->source = kClient;
    block->block = 0;
    shm::Lists(*block, kForm).extents()[0] = static_cast<std::int64_t>(kDataBytes);
    shm::data_of(block, kForm)[0] = shm::data_of(block, kForm)[kDataBytes - 1] = mark(step);
    handing_ = block;
    return block;
  }

  void publish_block(BlockHeader* block) {
    shm::Message event = event_of(block->step);
    event.block_offset = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(block) - region_.at(0));
    handed_.insert(block);
    if (how_.event_first) {
      writer_.try_push(event);
      block->state.store(static_cast<std::uint32_t>(BlockState::published), std::memory_order_release);
    } else {
      shm::publish_block(*block, BlockState::published, writer_, event);
    }
    handing_ = nullptr;
  }

  bool try_take(std::int64_t step, server::HeldBlock& held) {
    shm::Message event;
    if (!reader_.try_take(event)) return false;
    expect(event.step == step && event.serial == static_cast<std::uint64_t>(step), "events come in order, none lost or doubled");
    const server::Intake intake = server::check_block(region_, region_.span(0), kClient, event, infos());
    expect(intake.fault.empty(), "a block that was handed over is sound: " + intake.fault);
    const auto* data = static_cast<const std::byte*>(intake.dataset.data);
    expect(data[0] == mark(step) && data[kDataBytes - 1] == mark(step), "its contents are whole");
    held = intake.block;
    ledger_.hold(held);
    return true;
  }

  void release(const server::HeldBlock& held) {
    auto* block = reinterpret_cast<BlockHeader*>(region_.at(held.offset));
    const std::byte* data = shm::data_of(block, kForm);
    expect(data[0] == data[kDataBytes - 1], "a block stays as it was until it is released");  // a plugin reads it until then
    handed_.erase(block);
    releasing_ = block;
    if (how_.release_first) {
      region_.lane(0)->released.fetch_add(held.size_bytes, std::memory_order_release);
      block->state.store(static_cast<std::uint32_t>(BlockState::released), std::memory_order_release);
    } else {
      ledger_.release(held);
    }
    releasing_ = nullptr;
  }

  // What recovery finds: all that was handed over and not released, and perhaps what was in between.
  void check_walk() {
    std::set<BlockHeader*> found;
    const shm::LaneSpan& span = region_.span(0);
    const bool sound = shm::walk_arena(region_.at(span.arena_offset), span.arena_bytes, [&](BlockHeader& block, std::uint64_t) {
      if (block.state.load() == static_cast<std::uint32_t>(BlockState::published)) found.insert(&block);
    });
    expect(sound, "the arena can be walked to its end");
    for (BlockHeader* block : found) {
      expect(handed_.count(block) == 1 || block == releasing_, "only published blocks are found");
      const bool whole = block->source == kClient && block->data_bytes == kDataBytes &&
                         shm::data_of(block, kForm)[kDataBytes - 1] == mark(block->step);
      expect(whole, "what is found is whole");
    }
    for (BlockHeader* block : handed_) expect(found.count(block) == 1 || block == handing_, "every published block is found");
  }

  static const server::VariableInfos& infos() {
    static const model::Model model = model_of_bytes();
    static const server::VariableInfos infos(model);
    return infos;
  }

  Blocks how_;
  shm::Region region_;
  server::Ledger ledger_;
  shm::Arena arena_;
  shm::LaneWriter writer_;
  shm::LaneReader reader_;
  std::set<BlockHeader*> handed_;                          // and not released; the scenario's own memory
  BlockHeader *handing_ = nullptr, *releasing_ = nullptr;  // published or not, when its thread dies
};

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
      arena_.used_bytes();
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
    const std::int64_t settled = shm::settled_step(header);
    std::size_t found = 0;
    const shm::LaneSpan& span = region_.span(0);
    shm::walk_arena(region_.at(span.arena_offset), span.arena_bytes, [&](BlockHeader& block, std::uint64_t) {
      found += shm::state_of(block) == BlockState::published && block.step > settled ? 1 : 0;
    });
    expect(found == 0 || found == held_.size(), "a recovery finds all blocks of a step or none");
    expect(found > 0 || stored_, "what a recovery does not find is stored");
    expect(found > 0 || shm::known_open_steps(header, settled).empty(), "a stored step is not opened again");
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
    arena_.used_bytes();
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
Make question() { return maker<QuestionScenario>(Blocks{}); }
Make blocks(const Blocks& how) { return maker<BlocksScenario>(how); }
Make one_after_the_other(int steps) {
  Blocks how;
  how.steps = steps;
  return maker<TurnsScenario>(how);
}

}  // namespace damaris::explorer
