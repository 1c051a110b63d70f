// An arena of which the server releases a block while its client looks for room, without a region around it.
#include <new>

#include "core/shm/arena.hpp"
#include "model/common.hpp"

namespace damaris::explorer {
namespace {

using shm::BlockHeader;
using shm::BlockState;

// A full arena but for what a scenario leaves.
class ArenaScenario : public Scenario {
 public:
  ArenaScenario(std::byte* memory, std::uint64_t bytes)
      : bytes_(bytes), lane_(*new (memory) shm::LaneHeader{}), base_(memory + kArenaOffset), arena_(base_, bytes, &lane_) {}
  std::string field(std::size_t offset) const override {
    if (offset == offsetof(shm::LaneHeader, released)) return "released";
    if (offset < kArenaOffset) return "released_in";
    return offset % shm::kLine == offsetof(BlockHeader, state) ? "state" : "bytes";
  }

 protected:
  static constexpr std::size_t kArenaOffset = 16 * 1024;
  static constexpr shm::Form kForm{1, 0};
  static_assert(sizeof(shm::LaneHeader) <= kArenaOffset);

  // `size`: with its header.
  BlockHeader* reserve(std::uint64_t size) { return arena_.try_reserve(size - header_bytes(kForm), kForm); }
  BlockHeader* publish(std::uint64_t size) {
    BlockHeader* block = reserve(size);
    shm::set_state(*block, BlockState::published);
    return block;
  }
  void release(BlockHeader* block, std::uint64_t size) {
    shm::release_block(*block, size, lane_, bytes_, static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(block) - base_));
  }

  const std::uint64_t bytes_;
  shm::LaneHeader& lane_;
  std::byte* base_;
  shm::Arena arena_;
};

// Two blocks fill the first segment. The search begins in the second one: at a hole that is too small, and then at the block before it.
class SegmentsScenario : public ArenaScenario {
 public:
  SegmentsScenario(std::byte* memory, int) : ArenaScenario(memory, kSegment + shm::kPage) {
    first_ = publish(kHalf);
    publish(kHalf);
    publish(shm::kPage / 2);
  }
  std::vector<std::function<void()>> threads() override {
    return {[this] { search(); }, [this] { release(first_, kHalf); }};
  }

 private:
  static constexpr std::uint64_t kSegment = std::uint64_t{1} << shm::kSmallestSegmentShift, kHalf = kSegment / 2;

  void search() {
    BlockHeader* found;
    while ((found = reserve(shm::kPage)) == nullptr) wait_for_change();
    expect(found == first_, "the block that was released is found");
  }

  BlockHeader* first_ = nullptr;
};

class RebuildingScenario : public ArenaScenario {
 public:
  RebuildingScenario(std::byte* memory, int) : ArenaScenario(memory, shm::kPage) {
    block_ = publish(kSize);
    publish(kSize);
  }
  std::vector<std::function<void()>> threads() override {
    return {[this] { arena_.rebuild(); }, [this] { release(block_, kSize); }};
  }
  void check_end() override { expect(arena_.used_bytes() <= kSize, "no more bytes seem used than are"); }

 private:
  static constexpr std::uint64_t kSize = 1024;

  BlockHeader* block_ = nullptr;
};

}  // namespace

Make segments() { return maker<SegmentsScenario>(0); }
Make rebuilding() { return maker<RebuildingScenario>(0); }

}  // namespace damaris::explorer
