// The state of one client thread: its lane, its arena, and what it has written and allocated in the open step.
// Used by: that thread; the thread that ends a step, while no other thread is in a call.
// Before it: Client. After it: lane and arena in the region.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/zeroed_array.hpp"
#include "core/shm/lane.hpp"
#include "core/shm/pool.hpp"

namespace damaris::client {

struct Writer {
  Writer(shm::LaneWriter lane_writer, const shm::PooledArena& lane_arena, std::size_t variables)
      : lane(lane_writer), arena(lane_arena), last_step(variables) {}

  // Returns true if (variable, block) was already written or allocated in `step`; otherwise records it. Block 0 costs one comparison.
  bool seen_before(std::uint32_t variable, std::int64_t step, std::int32_t block) {
    if (block != 0) return !more_blocks.emplace(variable, block).second;
    if (last_step[variable] == step) return true;
    last_step[variable] = step;
    return false;
  }
  void forget(std::uint32_t variable, std::int32_t block) {
    if (block != 0)
      more_blocks.erase({variable, block});
    else
      last_step[variable] = shm::kNoStep;
  }

  // Memory that alloc returns together with a notice: the program fills it as usual, and commit discards it with the same notice.
  void* scratch_for(std::uint32_t variable, std::int32_t block, std::uint64_t bytes, int notice) {
    const std::size_t size = bytes == 0 ? 1 : bytes;
    Memory memory(static_cast<std::byte*>(::operator new(size, kScratchAlignment)));
    return scratch.insert_or_assign({variable, block}, Scratch{std::move(memory), notice}).first->second.memory.get();
  }

  // Records a write refused by back-pressure; it is reported to the server before the step ends.
  void refuse(std::uint32_t variable, std::int64_t step, bool drops) {
    ++refused[{step, variable, drops}];
    add_one(drops ? dropped : skipped);
  }

  // True if only the open step occupies the arena, so that no release can make room for `bytes`. In a pool, which other clients use too,
  // that is certain only if the step and `bytes` together exceed the whole pool.
  bool waiting_is_futile(std::uint64_t bytes, shm::Form form) noexcept {
    if (arena.is_shared()) return step_bytes + shm::block_bytes(bytes, form) > arena.size_bytes();
    return arena.used_bytes() <= step_bytes;
  }

  // Counts writes and commits of steps up to `last` that failed for lack of room as skipped, unless they were retried successfully.
  void record_failed_writes(std::int64_t open, std::int64_t last) {
    if (full.empty()) return;
    const auto end = full.lower_bound({last + 1, 0, 0});
    for (auto next = full.begin(); next != end; next = full.erase(next)) {
      const auto [step, variable, block] = *next;
      const bool reserved = block == 0 ? last_step[variable] == step : step == open && more_blocks.count({variable, block}) != 0;
      if (!reserved || allocated.count({variable, block}) != 0) ++refused[{step, variable, false}];
    }
  }

  void count_write() noexcept {
    add_one(writes);
    used_bytes.store(arena.last_used_bytes(), std::memory_order_relaxed);
  }
  void count_wait() noexcept { add_one(waits); }
  static void add_one(std::atomic<std::uint64_t>& counter) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  static constexpr std::align_val_t kScratchAlignment{64};
  struct ScratchDelete {
    void operator()(std::byte* memory) const noexcept { ::operator delete(memory, kScratchAlignment); }
  };
  using Memory = std::unique_ptr<std::byte, ScratchDelete>;
  struct Scratch {
    Memory memory;
    int notice;
  };

  // As reserved by this client; in a pool other clients may have overwritten the header since.
  struct Reserved {
    shm::BlockHeader* header;
    std::int64_t step;
    std::byte* data;
    std::uint64_t bytes;
  };

  shm::LaneWriter lane;
  shm::PooledArena arena;
  ZeroedArray<std::int64_t> last_step;                                   // by variable that has been looked up: step of its block 0
  std::set<std::pair<std::uint32_t, std::int32_t>> more_blocks;          // blocks other than 0 of the open step
  std::map<std::pair<std::uint32_t, std::int32_t>, Reserved> allocated;  // not committed yet
  std::map<std::pair<std::uint32_t, std::int32_t>, Scratch> scratch;     // of the open step
  using Refused = std::tuple<std::int64_t, std::uint32_t, bool>;         // step, variable, dropped or skipped
  std::map<Refused, std::uint64_t> refused;                              // number of writes not yet reported to the server
  std::set<std::tuple<std::int64_t, std::uint32_t, std::int32_t>> full;  // step, variable, block: refused with an error
  std::uint64_t reported_waits = 0;                                      // to the server
  std::uint64_t step_bytes = 0;                                          // of the arena, held by the open step
  bool woke_server = false;  // the server has been woken since lane or arena became more than half full
  // Allocated to be appended, and not published yet; by their data. They belong to no step.
  struct Appended {
    shm::BlockHeader* header;
    std::uint32_t log;
    std::uint64_t bytes;
  };
  std::map<void*, Appended> appends;
  std::int64_t thread = 0;
  // For dc_status of other threads; only this thread writes, so an addition needs no locked instruction.
  std::atomic<std::uint64_t> writes{0}, waits{0}, skipped{0}, dropped{0}, used_bytes{0};
};

}  // namespace damaris::client
