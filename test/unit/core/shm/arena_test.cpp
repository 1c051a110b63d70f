#include "core/shm/arena.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "core/shm/lane.hpp"

namespace damaris::shm {
namespace {

struct Fixture {
  explicit Fixture(std::uint64_t bytes) : memory(bytes / kLine), header(1), arena(base(), bytes, lane()) {}
  struct alignas(kLine) Line {
    char bytes[kLine];
  };
  std::byte* base() { return reinterpret_cast<std::byte*>(memory.data()); }
  LaneHeader* lane() { return header.data(); }
  // What the server does.
  void release(BlockHeader* block) {
    const auto offset = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(block) - base());
    release_block(*block, block->size_bytes.load(), *lane(), arena.size_bytes(), offset);
  }
  void publish(BlockHeader* block) {
    block->state.store(static_cast<std::uint32_t>(BlockState::published), std::memory_order_release);
  }
  std::vector<Line> memory;
  std::vector<LaneHeader> header;
  Arena arena;
};

TEST_CASE("rule 10: blocks follow each other, and where the hole ends the search goes round to the next one that fits") {
  Fixture f(64 * 1024);
  BlockHeader* a = f.arena.try_reserve(1000);
  BlockHeader* b = f.arena.try_reserve(5000);
  BlockHeader* c = f.arena.try_reserve(1000);
  BlockHeader* d = f.arena.try_reserve(5000);
  REQUIRE((a < b && b < c && c < d));
  f.release(a);
  f.release(c);
  f.release(b);
  // a, b and c merge to one hole, in front of the one behind d.
  const std::uint64_t merged = a->size_bytes + b->size_bytes + c->size_bytes;
  CHECK(f.arena.largest_hole_bytes() == 64 * 1024 - merged - d->size_bytes - kLongestHeader);
  CHECK(f.arena.try_reserve(100) > d);
  CHECK(f.arena.try_reserve(60 * 1024) == nullptr);
  REQUIRE(f.arena.try_reserve(64 * 1024 - merged - d->size_bytes - 256 - sizeof(BlockHeader)) > d);
  CHECK(f.arena.try_reserve(merged - sizeof(BlockHeader)) == a);
}

TEST_CASE("reserve without a hole returns nothing and leaves the arena unchanged") {
  Fixture f(8 * 1024);
  REQUIRE(f.arena.try_reserve(4 * 1024) != nullptr);
  const std::uint64_t used = f.arena.used_bytes();
  const std::uint64_t hole = f.arena.largest_hole_bytes();
  CHECK(f.arena.try_reserve(4 * 1024) == nullptr);
  CHECK(f.arena.used_bytes() == used);
  CHECK(f.arena.largest_hole_bytes() == hole);
}

TEST_CASE("rule 10: a block larger than the arena never fits, one of its size does") {
  Fixture f(8 * 1024);
  CHECK_FALSE(f.arena.can_ever_hold(8 * 1024));
  CHECK_FALSE(f.arena.can_ever_hold(~0ull));
  CHECK(f.arena.can_ever_hold(8 * 1024 - sizeof(BlockHeader)));
  CHECK(f.arena.try_reserve(8 * 1024 - sizeof(BlockHeader)) != nullptr);
  CHECK(f.arena.largest_hole_bytes() == 0);
}

TEST_CASE("data of a block are aligned to 64 bytes, even for sizes that are not") {
  Fixture f(64 * 1024);
  for (const std::uint64_t bytes : {0u, 1u, 63u, 64u, 65u, 1000u}) {
    BlockHeader* block = f.arena.try_reserve(bytes);
    REQUIRE(block != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(data_of(block, {})) % kLine == 0);
  }
}

TEST_CASE("a free block that a stray write has made larger than its arena is never handed out") {
  Fixture f(8 * 1024);
  BlockHeader* first = f.arena.try_reserve(1024);
  BlockHeader* second = f.arena.try_reserve(1024);
  REQUIRE(second != nullptr);
  auto* hole = reinterpret_cast<BlockHeader*>(reinterpret_cast<std::byte*>(second) + second->size_bytes);
  SECTION("its size") { hole->size_bytes = 1 << 20; }
  SECTION("its size, just beyond the end") { hole->size_bytes += kLine; }
  SECTION("its size, not of whole lines") { hole->size_bytes -= 1; }
  CHECK(f.arena.try_reserve(4 * 1024) == nullptr);
  CHECK(f.arena.try_reserve(16) == nullptr);
  f.release(first);
  CHECK(f.arena.try_reserve(16) == first);
}

TEST_CASE("a cancelled block is free again") {
  Fixture f(8 * 1024);
  BlockHeader* block = f.arena.try_reserve(6 * 1024);
  REQUIRE(f.arena.try_reserve(6 * 1024) == nullptr);
  f.arena.cancel(*block);
  CHECK(f.arena.try_reserve(6 * 1024) == block);
}

TEST_CASE("when everything is released the arena starts over, whatever the order of release and with cancelled blocks between") {
  Fixture f(64 * 1024);
  for (int round = 0; round < 3; ++round) {
    BlockHeader* first = f.arena.try_reserve(100);
    BlockHeader* cancelled = f.arena.try_reserve(200);
    BlockHeader* second = f.arena.try_reserve(300);
    CHECK(first == reinterpret_cast<BlockHeader*>(f.base()));
    f.arena.cancel(*cancelled);
    f.release(second);
    CHECK(f.arena.try_reserve(400) > second);  // the first one is still held
    f.release(first);
    CHECK(f.arena.try_reserve(500) > second);  // and now the one just reserved
    walk_arena(f.base(), 64 * 1024, [&](BlockHeader& block, std::uint64_t) {
      if (block.state == static_cast<std::uint32_t>(BlockState::reserved)) f.release(&block);
    });
  }
  CHECK(f.arena.used_bytes() == 0);
  CHECK(f.arena.try_reserve(64 * 1024 - sizeof(BlockHeader)) == reinterpret_cast<BlockHeader*>(f.base()));
}

TEST_CASE("a full arena is full also while a block that was reserved again is not counted as released yet") {
  Fixture f(8 * 1024);
  BlockHeader* first = f.arena.try_reserve(1024);
  BlockHeader* second = f.arena.try_reserve(16);
  while (f.arena.try_reserve(16) != nullptr) continue;
  const std::uint64_t uncounted = first->size_bytes, counted = second->size_bytes;
  set_state(*first, BlockState::released);
  f.release(second);
  REQUIRE(f.arena.try_reserve(1024) == first);
  CHECK(f.arena.used_bytes() == 8 * 1024);
  CHECK(f.arena.more_than_half_full());
  count_release(*f.lane(), f.arena.size_bytes(), 0, uncounted);
  CHECK(f.arena.used_bytes() == 8 * 1024 - counted);
}

TEST_CASE("half-full is known without a walk and ends with releases") {
  Fixture f(64 * 1024);
  BlockHeader* block = f.arena.try_reserve(40 * 1024);
  CHECK(f.arena.more_than_half_full());
  f.release(block);
  CHECK_FALSE(f.arena.more_than_half_full());
}

TEST_CASE("random reserves and releases never overlap, never lose a byte, and the walk sees every block") {
  std::mt19937 random(42);
  Fixture f(256 * 1024);
  std::deque<std::pair<BlockHeader*, unsigned char>> live;
  for (int round = 0; round < 20'000; ++round) {
    if (random() % 2 == 0 || live.empty()) {
      const std::uint64_t bytes = random() % 20'000;
      BlockHeader* block = f.arena.try_reserve(bytes);
      if (block == nullptr) continue;
      block->data_bytes = bytes;
      const auto mark = static_cast<unsigned char>(round);
      std::memset(data_of(block, {}), mark, bytes);
      f.publish(block);
      live.emplace_back(block, mark);
    } else {
      const std::size_t index = random() % live.size();
      const auto [block, mark] = live[index];
      const auto* data = reinterpret_cast<const unsigned char*>(data_of(block, {}));
      bool intact = true;
      for (std::uint64_t i = 0; i < block->data_bytes; ++i) intact = intact && data[i] == mark;
      REQUIRE(intact);
      f.release(block);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
    }
  }
  std::size_t published = 0;
  std::uint64_t walked = 0;
  REQUIRE(walk_arena(f.base(), 256 * 1024, [&](BlockHeader& block, std::uint64_t) {
    walked += block.size_bytes;
    published += block.state == static_cast<std::uint32_t>(BlockState::published) ? 1 : 0;
  }));
  CHECK(walked == 256 * 1024);
  CHECK(published == live.size());
  for (const auto& [block, mark] : live) f.release(block);
  CHECK(f.arena.used_bytes() == 0);
  CHECK(f.arena.largest_hole_bytes() == 256 * 1024 - kLongestHeader);
}

// The largest run of adjacent blocks that are free or released.
std::uint64_t largest_run(Fixture& f) {
  std::uint64_t largest = 0, run = 0;
  walk_arena(f.base(), f.arena.size_bytes(), [&](BlockHeader& block, std::uint64_t) {
    const auto state = static_cast<BlockState>(block.state.load());
    run = state == BlockState::free || state == BlockState::released ? run + block.size_bytes : 0;
    largest = std::max(largest, run);
  });
  return largest;
}

TEST_CASE("a search overlooks no hole, also one that begins in another segment of the arena") {
  constexpr std::uint64_t kBytes = 1 << 20;  // 16 segments
  const unsigned seed = GENERATE(1u, 2u, 3u, 4u);
  std::mt19937 random(seed);
  Fixture f(kBytes);
  std::vector<BlockHeader*> live;
  std::uint64_t failed = 0, overlooked = 0;
  for (int round = 0; round < 20'000; ++round) {
    // Mostly small blocks, some longer than a segment.
    const std::uint64_t bytes = random() % 64 == 0 ? random() % 200'000 : random() % 2'000;
    if (BlockHeader* block = f.arena.try_reserve(bytes)) {
      f.publish(block);
      live.push_back(block);
      continue;
    }
    ++failed;
    if (largest_run(f) >= block_bytes(bytes, {})) ++overlooked;
    // Sometimes all of a stretch of time, as a step is released, sometimes one.
    const std::size_t count = random() % 4 == 0 ? live.size() / 2 : std::min<std::size_t>(1 + random() % 8, live.size());
    const std::size_t first = random() % (live.size() - count + 1);
    for (std::size_t i = first; i < first + count; ++i) f.release(live[i]);
    live.erase(live.begin() + static_cast<std::ptrdiff_t>(first), live.begin() + static_cast<std::ptrdiff_t>(first + count));
  }
  CHECK(failed > 100);
  CHECK(overlooked == 0);
  const std::uint64_t largest = largest_run(f);
  CHECK(f.arena.largest_hole_bytes() == (largest < kLongestHeader ? 0 : largest - kLongestHeader));
  for (BlockHeader* block : live) f.release(block);
  CHECK(f.arena.try_reserve(kBytes - sizeof(BlockHeader)) != nullptr);
}

// Blocks of 64 bytes that fill an arena of 64 segments.
struct Full : Fixture {
  static constexpr std::uint64_t kSegment = 1 << kSmallestSegmentShift, kBytes = 64 * kSegment, kBlock = 2 * kLine;
  static constexpr std::uint64_t kPerSegment = kSegment / kBlock;
  Full() : Fixture(kBytes) {
    while (BlockHeader* block = arena.try_reserve(kLine)) {
      publish(block);
      blocks.push_back(block);
    }
  }
  // The headers visited by one reservation.
  std::uint64_t visits(std::uint64_t bytes, bool fits) {
    const std::uint64_t before = arena.visited_blocks();
    BlockHeader* block = arena.try_reserve(bytes);
    CHECK((block != nullptr) == fits);
    if (block != nullptr) publish(block);
    return arena.visited_blocks() - before;
  }
  std::vector<BlockHeader*> blocks;
};

TEST_CASE("a write visits only blocks near one that was released, however many are held") {
  Full f;
  REQUIRE(f.blocks.size() == Full::kBytes / Full::kBlock);
  std::mt19937 random(1);
  std::uint64_t sum = 0;
  for (int write = 0; write < 200; ++write) {
    BlockHeader* one = f.blocks[random() % f.blocks.size()];
    if (one->state != static_cast<std::uint32_t>(BlockState::published)) continue;
    f.release(one);
    sum += f.visits(kLine, true);
  }
  CHECK(sum <= 200 * 2 * Full::kPerSegment);
}

TEST_CASE("a search that found nothing is not repeated until something is released") {
  Full f;
  CHECK(f.visits(kLine, false) == 0);
  f.release(f.blocks[7]);
  CHECK(f.visits(2 * kLine, false) > 0);
  CHECK(f.visits(2 * kLine, false) == 0);
  CHECK(f.visits(5 * kLine, false) == 0);
  CHECK(f.visits(kLine, true) > 0);
}

TEST_CASE("holes that are too small are visited once, not by each larger write") {
  Full f;
  for (std::size_t i = 0; i < f.blocks.size(); i += 2) f.release(f.blocks[i]);
  CHECK(f.visits(4 * kLine, false) <= 2 * f.blocks.size());
  for (std::size_t i = 3; i < 200; i += 4) {
    f.release(f.blocks[f.blocks.size() - i]);  // a hole for three blocks, in one or two segments
    REQUIRE(f.visits(4 * kLine, true) <= 6 * Full::kPerSegment);
  }
}

TEST_CASE("the blocks of a step before, behind those of one that is held, are visited once while new ones take their place") {
  Full f;
  const std::size_t half = f.blocks.size() / 2;
  for (std::size_t i = half; i < f.blocks.size(); ++i) f.release(f.blocks[i]);
  // The first write has to pass what is held.
  std::uint64_t longest = f.visits(kLine, true), sum = 0;
  CHECK(longest <= half + 2 * Full::kPerSegment);
  longest = 0;
  for (std::size_t i = 1; i < half; ++i) {
    const std::uint64_t visits = f.visits(kLine, true);
    longest = std::max(longest, visits);
    sum += visits;
  }
  CHECK(longest <= 2 * Full::kPerSegment);
  CHECK(sum <= 2 * half);
}

TEST_CASE("a client and a server on two threads share an arena and a lane without a lock") {
  constexpr int kBlocks = 20'000;
  Fixture f(64 * 1024);
  std::vector<Fixture::Line> ring(lane_bytes(64) / kLine);
  auto* lane = new (ring.data()) LaneHeader{};
  std::atomic<bool> intact{true};
  std::thread server([&] {
    LaneReader reader(lane, 64);
    shm::Message event = {};
    for (int taken = 0; taken < kBlocks;) {
      if (!reader.try_take(event)) {
        std::this_thread::yield();
        continue;
      }
      auto* block = reinterpret_cast<BlockHeader*>(f.base() + event.block_offset);
      const auto* data = reinterpret_cast<const unsigned char*>(data_of(block, {}));
      for (std::uint64_t i = 0; i < block->data_bytes; ++i)
        if (data[i] != static_cast<unsigned char>(block->step)) intact = false;
      f.release(block);
      ++taken;
    }
  });
  LaneWriter writer(lane, 64);
  for (int i = 0; i < kBlocks;) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(i) * 37 % 3000;
    BlockHeader* block = writer.has_room() ? f.arena.try_reserve(bytes) : nullptr;
    if (block == nullptr) {
      std::this_thread::yield();
      continue;
    }
    block->data_bytes = bytes;
    block->step = i;
    std::memset(data_of(block, {}), static_cast<unsigned char>(i), bytes);
    f.publish(block);
    shm::Message event = {};
    event.kind = shm::MessageKind::write;
    event.block_offset = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(block) - f.base());
    writer.try_push(event);
    ++i;
  }
  server.join();
  CHECK(intact);
  CHECK(f.arena.used_bytes() == 0);
}

TEST_CASE("a walk stops at an impossible header") {
  Fixture f(8 * 1024);
  BlockHeader* first = f.arena.try_reserve(1000);
  BlockHeader* second = f.arena.try_reserve(1000);
  second->size_bytes = 1ull << 60;
  int seen = 0;
  CHECK_FALSE(walk_arena(f.base(), 8 * 1024, [&](BlockHeader& block, std::uint64_t) { seen += &block == first ? 1 : 100; }));
  CHECK(seen == 1);
}

}  // namespace
}  // namespace damaris::shm
