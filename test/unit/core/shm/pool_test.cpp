#include "core/shm/pool.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <csignal>
#include <cstring>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "core/base/clock.hpp"
#include "core/shm/region_names.hpp"

namespace damaris::shm {
namespace {

constexpr std::uint64_t kBytes = 64 * 1024;

// A pool in memory that children share.
class SharedPool {
 public:
  SharedPool() {
    new (&lane()) LaneHeader{};
    make_pool(pool(), base(), kBytes, &lane());
  }

  SharedMemory& memory() { return memory_; }
  PoolHeader& pool() { return *reinterpret_cast<PoolHeader*>(memory_.data()); }
  LaneHeader& lane() { return *reinterpret_cast<LaneHeader*>(memory_.data() + kPoolBytes); }
  std::byte* base() { return memory_.data() + kPoolBytes + kLaneBytes; }
  Arena arena() { return Arena::existing(base(), kBytes, &lane()); }
  // In this process, which lives.
  PooledArena client(std::uint32_t owner) {
    memory_.try_lock(kClientParts + owner);
    return {arena(), &pool(), memory_, owner, 100};
  }
  void release(BlockHeader* block) {
    release_block(*block, block->size_bytes, lane(), kBytes,
                  static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(block) - base()));
  }

  // Runs `work` in a process that then dies as it stands.
  template <class Work>
  void in_a_process_that_dies(Work&& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      work();
      ::_exit(0);
    }
    int status = 1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(status == 0);
  }

 private:
  static constexpr std::size_t kPoolBytes = round_up(sizeof(PoolHeader), kPage), kLaneBytes = round_up(sizeof(LaneHeader), kPage);
  static constexpr std::size_t kAll = kPoolBytes + kLaneBytes + kBytes;
  SharedMemory memory_ = SharedMemory::create(region_name("unit", make_nonce(), 0, 0), kAll, kAll);
};

constexpr std::uint64_t kPart = kClientParts + 20;

// In a child: what it holds its part of until it dies.
SharedMemory locked(SharedPool& shared) {
  SharedMemory mine = SharedMemory::open(shared.memory().name(), 1);
  mine.try_lock(kPart);
  return mine;
}

// A process that takes the lock of a pool and stands still until it dies.
class LockHolder {
 public:
  explicit LockHolder(SharedPool& shared) {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    child_ = ::fork();
    if (child_ == 0) {
      const SharedMemory mine = locked(shared);
      const PoolLock lock(shared.pool(), mine, kPart, 0);
      (void)!::write(ready[1], "x", 1);
      for (;;) ::pause();
    }
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    for (const int end : ready) ::close(end);
  }
  ~LockHolder() { die(); }
  LockHolder(const LockHolder&) = delete;
  LockHolder& operator=(const LockHolder&) = delete;

  void die() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }

 private:
  pid_t child_ = 0;
};

bool overlap(const BlockHeader* a, const BlockHeader* b) {
  const auto* first = reinterpret_cast<const std::byte*>(a);
  const auto* second = reinterpret_cast<const std::byte*>(b);
  return first < second + b->size_bytes && second < first + a->size_bytes;
}

}  // namespace

TEST_CASE("clients of a pool share its room: each may have nearly all of it, and gets none that another has") {
  SharedPool shared;
  PooledArena one = shared.client(0), two = shared.client(1);
  CHECK(one.can_ever_hold(kBytes - sizeof(BlockHeader)));
  BlockHeader* large = one.try_reserve(48 * 1024);
  BlockHeader* small = two.try_reserve(8 * 1024);
  REQUIRE(large != nullptr);
  REQUIRE(small != nullptr);
  CHECK_FALSE(overlap(large, small));
  CHECK(two.try_reserve(16 * 1024) == nullptr);
  CHECK(two.used_bytes() == large->size_bytes + small->size_bytes);
  shared.release(large);
  CHECK(two.try_reserve(16 * 1024) == large);
}

TEST_CASE("a pool whose owner dies with the lock is rebuilt from the blocks: what they mark as reserved stays reserved") {
  SharedPool shared;
  PooledArena survivor = shared.client(0);
  BlockHeader* before = survivor.try_reserve(1000);
  shared.in_a_process_that_dies([&] {
    auto* mine = new SharedMemory(locked(shared));
    auto* lock = new PoolLock(shared.pool(), *mine, kPart, 0);  // never unlocked
    Arena arena = shared.arena();
    arena.resume(shared.pool().state, shared.pool().index);
    arena.set_owner(1);
    (void)lock;
    (void)arena.try_reserve(2000);  // and the state does not know of it
    std::memset(static_cast<void*>(&shared.pool().state), 0x55, sizeof(ArenaState));
  });
  BlockHeader* after = survivor.try_reserve(1000);
  REQUIRE(after != nullptr);
  BlockHeader* lost = nullptr;
  walk_arena(shared.base(), kBytes, [&](BlockHeader& block, std::uint64_t) {
    if (block.state == static_cast<std::uint32_t>(BlockState::reserved) && block.owner == 1) lost = &block;
  });
  REQUIRE(lost != nullptr);
  CHECK_FALSE(overlap(before, after));
  CHECK_FALSE(overlap(lost, after));
  CHECK(survivor.used_bytes() == before->size_bytes + lost->size_bytes + after->size_bytes);
  for (BlockHeader* block : {before, lost, after}) shared.release(block);
  CHECK(survivor.largest_hole_bytes() == kBytes - kLongestHeader);
}

TEST_CASE("a client that overwrites the state of a pool cannot make another one write outside of it") {
  SharedPool shared;
  PooledArena client = shared.client(0);
  BlockHeader* before = client.try_reserve(100);
  REQUIRE(before != nullptr);
  shared.pool().state.cursor = GENERATE(kBytes - 8, kBytes, ~0ull - 7, 1ull << 63, 100ull);
  const std::uint64_t place = GENERATE(0ull, kBytes - 8, ~0ull);
  for (SegmentState& segment : shared.pool().index.segments) segment = {place, ~0ull, ~0ull};
  BlockHeader* after = client.try_reserve(100);  // the search begins at the first block
  REQUIRE(after != nullptr);
  CHECK(reinterpret_cast<std::byte*>(after) + after->size_bytes <= shared.base() + kBytes);
  CHECK_FALSE(overlap(before, after));
  client.cancel(*before);
  client.cancel(*after);
  CHECK(client.try_reserve(100) == before);
}

TEST_CASE("a stopped owner of the lock makes the others wait for a while, not forever") {
  SharedPool shared;
  LockHolder holder(shared);
  PooledArena client = shared.client(0);
  CHECK(client.try_reserve(100) == nullptr);
  CHECK_FALSE(reclaim(shared.pool(), shared.memory(), shared.arena(), 1, [](const BlockHeader&) { return false; }));
  holder.die();
  CHECK(client.try_reserve(100) != nullptr);
}

TEST_CASE("the use of a pool is known without a wait for its lock, as it was last seen") {
  SharedPool shared;
  PooledArena client = shared.client(0);
  BlockHeader* block = client.try_reserve(10'000);
  REQUIRE(block != nullptr);
  const PooledArena::Use before = client.use_now();
  CHECK(before.used_bytes == block->size_bytes);
  CHECK(before.largest_hole_bytes == client.largest_hole_bytes());
  shared.release(block);
  LockHolder holder(shared);
  const Deadline end = Deadline::after_ms(20'000);
  for (int call = 0; call < 1'000; ++call) {  // 100 s if each waited as a write does
    const PooledArena::Use now = client.use_now();
    REQUIRE(now.used_bytes == before.used_bytes);
    REQUIRE(now.largest_hole_bytes == before.largest_hole_bytes);
    REQUIRE(!end.expired());
  }
  holder.die();
  CHECK(client.use_now().used_bytes == 0);
}

TEST_CASE("a thread's view of the use of a pool never exceeds the pool, whatever others do in the meantime") {
  SharedPool shared;
  PooledArena one = shared.client(0), other = shared.client(1);
  BlockHeader* mine = one.try_reserve(100);
  for (int round = 0; round < 3; ++round) {
    BlockHeader* block = other.try_reserve(50'000);
    REQUIRE(block != nullptr);
    shared.release(block);
  }
  CHECK(one.last_used_bytes() == mine->size_bytes);
  CHECK(other.last_used_bytes() <= kBytes);
}

TEST_CASE("what a dead client had reserved is released, except what the server has taken, and nothing of others") {
  SharedPool shared;
  PooledArena dead = shared.client(7), living = shared.client(8);
  BlockHeader* taken = dead.try_reserve(100);
  BlockHeader* reserved = dead.try_reserve(200);
  BlockHeader* others = living.try_reserve(300);
  BlockHeader* answered = dead.try_reserve(400);
  taken->state = static_cast<std::uint32_t>(BlockState::published);
  answered->state = static_cast<std::uint32_t>(BlockState::answered);
  CHECK(reclaim(shared.pool(), shared.memory(), shared.arena(), 7, [&](const BlockHeader& block) { return &block == taken; }));
  CHECK(living.used_bytes() == taken->size_bytes + others->size_bytes);
  bool comes_back = false;
  while (BlockHeader* block = living.try_reserve(200)) comes_back = comes_back || block == reserved;
  CHECK(comes_back);
}

// Many die with the lock, and at least one does.
TEST_CASE("clients that are killed at any instruction leave a pool in which nothing is lost") {
  SharedPool shared;
  std::mt19937 random(1);
  int orphans = 0;
  for (int round = 0; round < 100 || (orphans == 0 && round < 1'000); ++round) {
    PooledArena survivor = shared.client(0);
    BlockHeader* mine = survivor.try_reserve(500);
    REQUIRE(mine != nullptr);
    shared.lane().head = 0;
    const pid_t child = ::fork();
    if (child == 0) {
      const SharedMemory mine = locked(shared);
      PooledArena client(shared.arena(), &shared.pool(), mine, kPart - kClientParts, 100);
      std::mt19937 sizes(static_cast<unsigned>(round));
      for (BlockHeader* last = nullptr;;) {
        BlockHeader* block = client.try_reserve(sizes() % 4'000);
        if (last != nullptr) client.cancel(*last);
        last = block;
        shared.lane().head = 1;
      }
    }
    while (shared.lane().head == 0) std::this_thread::yield();  // until it is at it: a sanitizer's process takes its time to begin
    ::usleep(random() % 3'000);
    ::kill(child, SIGKILL);
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    orphans += shared.pool().owner != 0 ? 1 : 0;
    REQUIRE(
        reclaim(shared.pool(), shared.memory(), shared.arena(), kPart - kClientParts, [](const BlockHeader&) { return false; }));
    REQUIRE(survivor.used_bytes() == mine->size_bytes);
    survivor.cancel(*mine);
    REQUIRE(survivor.largest_hole_bytes() == kBytes - kLongestHeader);
  }
  CHECK(orphans > 0);
}

TEST_CASE("threads that reserve and release at the same time never have the same bytes, and leave an empty pool") {
  SharedPool shared;
  std::vector<std::thread> threads;
  std::atomic<int> spoiled{0};
  for (std::uint32_t owner = 0; owner < 4; ++owner)
    threads.emplace_back([&, owner] {
      PooledArena client = shared.client(owner);
      std::mt19937 random(owner);
      for (int round = 0; round < 5'000; ++round) {
        const std::size_t bytes = random() % 8'000 + 1;
        BlockHeader* block = client.try_reserve(bytes);
        if (block == nullptr) continue;
        std::memset(static_cast<void*>(data_of(block, {})), static_cast<int>(owner), bytes);
        for (std::size_t at = 0; at < bytes; at += 97) spoiled += data_of(block, {})[at] != static_cast<std::byte>(owner);
        client.cancel(*block);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(spoiled == 0);
  CHECK(shared.client(9).used_bytes() == 0);
}

}  // namespace damaris::shm
