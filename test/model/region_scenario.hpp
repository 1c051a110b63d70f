// A region of one client, with what that client and the server do with its blocks.
// Used by: the scenarios of blocks, in instrumented files.
// Before it: common.hpp. After it: block_scenarios.cpp, server_block_scenarios.cpp.
#pragma once

#include <cstddef>
#include <cstring>
#include <set>

#include "core/shm/arena.hpp"
#include "core/shm/block.hpp"
#include "model/common.hpp"
#include "server/intake.hpp"
#include "server/ledger.hpp"

namespace damaris::explorer {

using shm::BlockHeader;
using shm::BlockState;
using shm::LaneHeader;

inline constexpr std::int32_t kClient = 3;
inline constexpr std::uint64_t kDataBytes = 1500;  // of a block: two fit into an arena of one page
inline constexpr shm::Form kForm{1, 0};

inline model::Model model_of_bytes() {
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
inline const std::vector<std::byte>& region_image() {
  static const std::vector<std::byte> image = [] {
    shm::RegionSpec spec;
    spec.lane_messages = kRing;
    spec.buffer_bytes = shm::kPage;
    const shm::Region region = shm::Region::create(spec);
    return std::vector<std::byte>(region.at(0), region.at(0) + region.header().total_bytes);
  }();
  return image;
}

inline shm::Region region_in(std::byte* memory) {
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

}  // namespace damaris::explorer
