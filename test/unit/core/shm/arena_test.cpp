#include "core/shm/arena.hpp"

#include <catch2/catch.hpp>

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
    const std::uint64_t size = block->size_bytes.load();
    block->state.store(static_cast<std::uint32_t>(BlockState::released), std::memory_order_release);
    header[0].released.fetch_add(size, std::memory_order_release);
  }
  void publish(BlockHeader* block) {
    block->state.store(static_cast<std::uint32_t>(BlockState::published), std::memory_order_release);
  }
  std::vector<Line> memory;
  std::vector<LaneHeader> header;
  Arena arena;
};

TEST_CASE("rule 10: the first hole by address that fits is taken") {
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

TEST_CASE("a free block that a stray write has made larger than its arena, or linked beyond its end, is never handed out") {
  Fixture f(8 * 1024);
  BlockHeader* first = f.arena.try_reserve(1024);
  BlockHeader* second = f.arena.try_reserve(1024);
  REQUIRE(second != nullptr);
  auto* hole = reinterpret_cast<BlockHeader*>(reinterpret_cast<std::byte*>(second) + second->size_bytes);
  SECTION("its size") { hole->size_bytes = 1 << 20; }
  SECTION("its size, just beyond the end") { hole->size_bytes += kLine; }
  SECTION("its size, not of whole lines") { hole->size_bytes -= 1; }
  SECTION("where the next one is") {
    f.release(first);
    CHECK(f.arena.largest_hole_bytes() > 0);  // the list begins with the first block now
    first->next_free = 8 * 1024 - 4;
  }
  CHECK(f.arena.try_reserve(4 * 1024) == nullptr);
  CHECK(f.arena.try_reserve(16) == (first->state == static_cast<std::uint32_t>(BlockState::reserved) ? nullptr : first));
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
