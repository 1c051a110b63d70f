// The state of a client and of each of its threads: the sequence of its steps; its logs; lane and arena of a thread, and what that has written
// and allocated in the open step.
// Used by: every call of a client. A Writer: its thread; the thread that ends a step, while no other thread is in a call.
// Before it: Client. After it: lane and arena in the region, and the messages that end steps.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/zeroed_array.hpp"
#include "core/model/model.hpp"
#include "core/shm/lane.hpp"
#include "core/shm/layout.hpp"
#include "core/shm/pool.hpp"

// What dc_log hands out: a log as a client appends to it, from the attach to the end of the session.
struct dc_log_s {
  // Where the stream of one thread goes: a file of the log.
  struct Place {
    damaris::shm::LogEnd* end;
    std::int64_t file;  // counted over the servers of the run
  };

  std::uint32_t id = 0;
  const damaris::model::StreamLog* log = nullptr;
  std::vector<Place> places;  // by thread
};

namespace damaris::client {

// Where a client is in its sequence of steps. Threads read it on the fast path, and change it under Client::lock_step().
class StepState {
 public:
  // between -> open (a call names a step) -> writing (its first write) -> between (the step ends)
  enum class Phase : std::uint8_t { between, open, writing };

  bool is_open(std::int64_t step) const noexcept { return step == open_.load(std::memory_order_acquire) && step >= 0; }
  // The open step has a write: changed parameters take effect in the next one.
  bool is_writing() const noexcept { return phase_.load(std::memory_order_acquire) == Phase::writing; }
  // kNoStep between two steps.
  std::int64_t open() const noexcept { return open_.load(std::memory_order_relaxed); }
  std::int64_t last_ended() const noexcept { return ended_; }
  // The lowest step that a call may still name.
  std::int64_t lowest_allowed() const noexcept { return std::max(ended_ + 1, open()); }
  // The highest step that a call has named.
  std::int64_t highest_named() const noexcept { return std::max(ended_, open()); }
  // The open step if it has a write.
  std::optional<std::int64_t> unfinished() const noexcept {
    return is_writing() ? std::optional(open_.load(std::memory_order_relaxed)) : std::nullopt;
  }

  void begin(std::int64_t step) noexcept {
    phase_.store(Phase::open, std::memory_order_relaxed);
    open_.store(step, std::memory_order_release);
  }
  void begin_writing() noexcept { phase_.store(Phase::writing, std::memory_order_release); }
  void end_below(std::int64_t step) noexcept {
    ended_ = std::max(ended_, step - 1);
    open_.store(shm::kNoStep, std::memory_order_relaxed);
    phase_.store(Phase::between, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::int64_t> open_{shm::kNoStep};
  std::int64_t ended_ = shm::kNoStep;  // highest step this client has ended
  std::atomic<Phase> phase_{Phase::between};
};

using LogHandle = dc_log_s;

// The state of one client thread.
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

  // Records a write that back-pressure omits; it is reported to the server before the step ends.
  void count_omitted(std::uint32_t variable, std::int64_t step, bool drops) {
    ++omitted[{step, variable, drops}];
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
      if (!reserved || allocated.count({variable, block}) != 0) ++omitted[{step, variable, false}];
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
  using Omitted = std::tuple<std::int64_t, std::uint32_t, bool>;         // step, variable, dropped or skipped
  std::map<Omitted, std::uint64_t> omitted;                              // number of writes not yet reported to the server
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
