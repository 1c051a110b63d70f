// The binary layout of the region: header, client slots, lanes, arenas. All shared data are in this file, block.hpp and lane.hpp.
// Used by: the server (creates it), clients (attach to it), recovery (reads it after the server's death).
// Before it: the compiled model determines the sizes. After it: lane.hpp, arena.hpp and mailbox.hpp operate on these bytes.
//
// [header | slots | lane spans | pool | ends of logs | XML text | compiled model: frame, rest, table of the variables | lanes | arenas]; offsets are bytes from the
// start of the region. With a shared pool there is one arena for all lanes.
// The comment of every field gives its writer (S server, C client) and, if it is shared after start-up, the memory order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace damaris::shm {

inline constexpr std::uint64_t kMagic = 0x3153495241414d44;  // the bytes "DMAARIS1" in memory
inline constexpr std::uint32_t kAbi = 17;                    // raised with every change of this file, or of a struct in those
inline constexpr std::uint64_t kLine = 64;                   // cache line; everything is aligned to it
inline constexpr std::uint64_t kPage = 4096;
inline constexpr std::uint64_t kOmissions = 64;  // clients of a node that are fewer steps apart omit the same writes
inline constexpr std::uint64_t kTimes = 64;      // open steps whose times recovery finds
inline constexpr std::uint64_t kGivenUp = 16;    // steps that were given up, which a flush distinguishes from all stored ones

enum class RegionState : std::uint32_t {
  making = 0,
  ready = 1,
  closed = 2,   // the server has ended or is about to; what it could not store is left in a region that keeps its name
  leaving = 3,  // all clients have left, or the server must stop: it stores published blocks and accepts nothing more
  lost = 4,     // a fault has ended the server, whether or not its process is alive: published blocks are left to recovery
};

// The physical time of an open step.
struct StepTime {
  std::atomic<std::int64_t> step;
  std::atomic<double> time;
};

struct alignas(kLine) RegionHeader {
  // S before `state` becomes ready, constant afterwards.
  std::uint64_t magic;
  std::uint32_t abi;
  std::uint32_t header_bytes;  // sizeof(RegionHeader)
  std::uint64_t total_bytes;
  std::uint64_t config_digest;
  std::uint64_t config_place;  // digest of the file's canonical path: another file with the same content is another run
  std::uint32_t client_count;
  std::uint32_t threads;        // lanes per client
  std::uint64_t lane_messages;  // capacity of a lane, a power of two
  std::uint64_t slots_offset;
  std::uint64_t spans_offset;
  std::uint64_t xml_offset, xml_bytes;
  std::uint64_t frame_offset, frame_bytes;  // json.hpp
  std::uint64_t rest_offset, rest_bytes;
  std::uint64_t variables_offset, variables_bytes;  // variable_table.hpp
  std::int32_t server_pid;                          // for messages
  std::int32_t server_index;
  std::int32_t server_count;  // in the run
  std::uint32_t detached;     // 1: clients without MPI may look for it
  std::uint64_t pool_offset;  // of the PoolHeader; 0: every lane has an arena of its own
  std::uint64_t ends_offset;  // of the LogEnds
  std::uint64_t log_files;    // number of LogEnds: the files of all logs, in the order of the model
  std::uint64_t run;          // digest of the run's identity (process.hpp)
  char simulation[64];
  char host[64];
  char spill[256];  // absolute path of the spill file, "" for none

  alignas(kLine) std::atomic<std::uint32_t> state;  // S release, C acquire: RegionState

  // Waking the server: C bumps the doorbell after a push, S sleeps on it (futex).
  alignas(kLine) std::atomic<std::uint32_t> doorbell;
  std::atomic<std::uint32_t> server_sleeping;

  // Waking clients: S bumps after a release, a completion or a durable step; C sleeps on it (futex).
  alignas(kLine) std::atomic<std::uint32_t> progress;
  std::atomic<std::uint32_t> clients_waiting;

  // Back-pressure counters. S writes, C reads, both relaxed: for dc_status.
  alignas(kLine) std::atomic<std::uint64_t> spilled_blocks;  // currently in the spill file; also for recovery
  std::atomic<std::uint64_t> spilled_bytes;                  // since the start
  std::atomic<std::uint64_t> reduced_steps;                  // stored with reduce-on-full
  // For the line at the end of the run. S writes all except `waited_ns`, C reads, all relaxed.
  std::atomic<std::uint64_t> stored_steps, failed_steps, raw_bytes, stored_bytes;  // bytes before and after reduction
  std::atomic<std::uint64_t> left_out;                                             // writes, by on-full
  std::atomic<std::uint64_t> busy_ns;                                              // in callbacks of plugins, up to the last step
  std::atomic<std::uint64_t> waited_ns;                                            // C adds: the time that clients waited for room
  std::int64_t serving_since_ns;                                                   // steady clock; constant after start-up
  // C and S compare-exchange: which writes of a step are omitted (steps.hpp). On separate lines, because every write may read it.
  alignas(kLine) std::atomic<std::uint64_t> omissions[kOmissions];
  // C and S compare-exchange, before the word: the highest step that has lost its word to another one, or found no room for it.
  std::atomic<std::int64_t> omitted_until;

  // What became of each step: through steps.hpp. kNoStep: none.
  alignas(kLine) StepTime times[kTimes];  // S writes, recovery reads
  // S writes, C reads.
  alignas(kLine) std::atomic<std::int64_t> last_complete;
  std::atomic<std::int64_t> last_processed;  // complete and stored, or its failure reported
  std::atomic<std::int64_t> last_durable;    // stored; earlier steps may have been given up
  std::atomic<std::int64_t> releasing;       // S only: the processed step whose blocks are being released, else kNoStep
  std::atomic<std::int32_t> first_error;
  // What the server is doing, for the message of a client's time-out: S writes, C reads, both relaxed; the text may be torn.
  std::atomic<std::int64_t> busy_since_ns;  // steady clock, 0: not busy
  std::atomic<char> busy_with[96];

  // S writes with release, before last_processed; C reads with acquire.
  alignas(kLine) std::atomic<std::int64_t> given_up[kGivenUp];
  std::atomic<std::int64_t> forgotten_first, forgotten_last;  // of older ones; S writes before the entry that it reuses
};

inline constexpr std::int64_t kNoStep = -1;                          // steps are 0 or more
inline constexpr std::int64_t kHighestStep = std::int64_t{1} << 62;  // the sum of two steps does not overflow

enum class SlotState : std::uint32_t {
  free = 0,
  claimed = 1,   // C: owns the slot, is preparing its arena
  attached = 2,  // C release: may send
  drained = 3,   // S release: the client has finalized and all its data are processed
  dead = 4,      // S: the process ended without finalize; C: it lives, but its session is over
};

struct Mail {
  std::int64_t step;
  std::int32_t code;
  char sentence[500];
};
inline constexpr std::uint32_t kMails = 8;  // a power of two

struct alignas(kLine) ClientSlot {
  std::atomic<std::uint32_t> state;                     // SlotState: C free->claimed->attached->dead, S drained and dead
  std::atomic<std::int32_t> id;                         // C before attached
  std::int32_t pid;                                     // C before attached; for messages
  std::atomic<std::uint32_t> waits_for_room;            // C: number of its threads that wait for room
  alignas(kLine) std::atomic<std::int64_t> ended_step;  // S, C, relaxed: highest step the server has seen this client end
  // Mailbox: S fills mails[head % kMails] and bumps head (release); C empties and bumps tail (release).
  alignas(kLine) std::atomic<std::uint32_t> mail_head;
  std::atomic<std::uint32_t> mail_waiting;  // S release: reports for which the mailbox has no room yet
  alignas(kLine) std::atomic<std::uint32_t> mail_tail;
  Mail mails[kMails];
};

// One per lane: client slot * threads + thread. Constant after start-up.
struct LaneSpan {
  std::uint64_t lane_offset;
  std::uint64_t arena_offset;
  std::uint64_t arena_bytes;
  std::uint64_t arena;  // the lane whose `released` counter belongs to the arena: its own, or 0 in a shared pool
};

// An arena of more than one segment counts releases in each, so that a client looks for room only where something has changed.
inline constexpr std::uint64_t kSegments = 1024;
inline constexpr unsigned kSmallestSegmentShift = 16;

// Processors fetch lines in pairs: `head`, `tail` and `released`, which different processes write or read at the same time, are in three.
struct LaneHeader {
  // S and C release, C acquire: bytes of released blocks in this lane's arena.
  alignas(kLine) std::atomic<std::uint64_t> released;
  // The same, for the blocks that begin in each segment (arena.hpp). Unused in an arena of one segment.
  alignas(kLine) std::atomic<std::uint64_t> released_in[kSegments];
  alignas(kLine) std::atomic<std::uint64_t> head;  // C release, S acquire: messages pushed
  alignas(kLine) std::atomic<std::uint64_t> tail;  // S release, C acquire: messages taken
  // shm::Message ring[lane_messages] follows
};
static_assert(offsetof(LaneHeader, head) / (2 * kLine) != offsetof(LaneHeader, tail) / (2 * kLine));

inline constexpr std::uint64_t kNoBlock = ~0ull;

// The state of an arena, which can be rebuilt from its block headers.
struct ArenaState {
  std::uint64_t cursor = 0;          // offset of the block at which the next search begins: the hole that was used last
  std::uint64_t reserved_bytes = 0;  // total so far; minus `released`: in use
  std::uint64_t reserved_at_reset = 0;
  std::uint64_t failed_bytes = kNoBlock;  // the smallest block for which there was no hole ...
  std::uint64_t failed_at = 0;            // ... when `released` was this
};

// What the last visit of a segment found. Can be rebuilt as well.
struct SegmentState {
  std::uint64_t before;   // offset of the last block that begins before the segment
  std::uint64_t seen;     // value of its counter of releases
  std::uint64_t largest;  // size of the largest hole that begins in it
};
struct ArenaIndex {
  SegmentState segments[kSegments] = {};
};

// For a pool shared by all clients. The process that takes the lock over from a dead owner rebuilds `state` from the blocks.
struct alignas(kLine) PoolHeader {
  // C, and S after a client's death: the part of the memory that the holder of the lock has, + 1; 0: none.
  std::atomic<std::uint64_t> owner;
  std::atomic<std::uint32_t> bell;     // bumped when the lock is released
  std::atomic<std::uint32_t> waiting;  // waiting processes; one that died while waiting still counts
  ArenaState state;                    // protected by the lock
  ArenaIndex index;                    // protected by the lock
};

// Where the next append to one file of a log goes. S before `state` becomes ready; then C adds the bytes of an append, relaxed, and so
// reserves their place. A client that dies between that and the publishing of its block leaves a hole.
struct alignas(2 * kLine) LogEnd {
  std::atomic<std::uint64_t> bytes;
  // S before `state` becomes ready, constant afterwards: what the server found in the index, for recovery. 0: no log; 1: one that is replaced
  // with the first append; 2: one that goes on.
  std::uint64_t before;
  std::uint64_t run_before;  // its number
};

// How states are published and read: a reader of a state sees what was stored before it.
inline RegionState state_of(const RegionHeader& header) noexcept {
  return static_cast<RegionState>(header.state.load(std::memory_order_acquire));
}
inline void set_state(RegionHeader& header, RegionState state) noexcept {
  header.state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
}

inline SlotState state_of(const ClientSlot& slot) noexcept {
  return static_cast<SlotState>(slot.state.load(std::memory_order_acquire));
}
inline void set_state(ClientSlot& slot, SlotState state) noexcept {
  slot.state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
}

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace damaris::shm
