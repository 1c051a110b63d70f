// The region byte by byte: header, client slots, lanes, arenas. Everything that two processes share is in this file, and in block.hpp.
// Used by: the server (makes it), clients (attach to it), recovery (reads it after a death).
// Before it: the compiled model gives the sizes. After it: Lane, Arena, Mailbox give these bytes their behaviour.
//
// [header | slots | lane spans | XML text | compiled model | lanes | arenas]; offsets are bytes from the start of the region. With a
// shared pool there is one arena, for all lanes.
// Every field says who writes it (S server, C client) and the memory order where it is shared after start-up.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/shm/message.hpp"

namespace damaris::shm {

inline constexpr std::uint64_t kMagic = 0x3153495241414d44;  // the bytes "DMAARIS1" in memory
inline constexpr std::uint32_t kAbi = 10;                    // raised with every change of this file or of block.hpp
inline constexpr std::uint64_t kLine = 64;                   // cache line, and alignment of everything
inline constexpr std::uint64_t kPage = 4096;
inline constexpr std::uint64_t kOmissions = 16;   // steps that clients of a node may be apart and still leave out the same
inline constexpr std::uint64_t kOpenSteps = 256;  // of which a recovery finds all that the dead server knew besides the blocks

enum class RegionState : std::uint32_t {
  making = 0,
  ready = 1,
  closed = 2,   // everything is stored; the server has ended or is about to
  leaving = 3,  // all clients have ended, or the server has to stop: it stores what was published and accepts nothing more
  lost = 4,     // a fault has ended the server, whether its process lives or not: what was published stays for a recovery
};

// What the server knows of an open step besides its blocks (open_steps.hpp).
struct OpenStep {
  std::atomic<std::int64_t> step;
  std::atomic<double> time;
  std::atomic<std::uint32_t> facts;
};

struct alignas(kLine) RegionHeader {
  // S before `state` becomes ready, constant afterwards.
  std::uint64_t magic;
  std::uint32_t abi;
  std::uint32_t header_bytes;  // sizeof(RegionHeader)
  std::uint64_t total_bytes;
  std::uint64_t config_digest;
  std::uint64_t config_place;  // digest of the file's canonical path: another file of the same content is another run
  std::uint32_t client_count;
  std::uint32_t threads;      // lanes per client
  std::uint64_t lane_events;  // capacity of a lane, a power of two
  std::uint64_t slots_offset;
  std::uint64_t spans_offset;
  std::uint64_t xml_offset, xml_bytes;
  std::uint64_t model_offset, model_bytes;
  std::uint64_t server_start_time;
  std::uint64_t server_space;  // PID and time namespace of server_pid and server_start_time
  std::int32_t server_pid;
  std::int32_t server_index;
  std::int32_t server_count;  // of the run
  std::uint32_t detached;     // 1: clients without MPI may look for it
  std::uint64_t pool_offset;  // of the PoolHeader, 0 when every lane has an arena of its own
  std::uint64_t run;          // digest of what distinguishes this run's processes from those of others (run_identity.hpp)
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

  // The ladder. S writes, C reads, both relaxed: for dc_status.
  alignas(kLine) std::atomic<std::uint64_t> spilled_blocks;  // that are in the spill file; also for recovery
  std::atomic<std::uint64_t> spilled_bytes;                  // in all
  std::atomic<std::uint64_t> reduced_steps;                  // stored with reduce-on-full
  // C compares and exchanges: what is left out of a step (omission.hpp). On lines of its own, as every write may read it.
  alignas(kLine) std::atomic<std::uint64_t> omissions[kOmissions];

  // S writes, recovery reads: what S knows of open steps; those that found no free entry are joined to one range.
  alignas(kLine) OpenStep open_steps[kOpenSteps];
  std::atomic<std::int64_t> overflow_first, overflow_last;
  std::atomic<std::uint32_t> overflow_facts;

  // S writes with release, C reads with acquire. kNoStep: none yet.
  alignas(kLine) std::atomic<std::int64_t> last_complete;
  std::atomic<std::int64_t> last_processed;  // complete and stored, or its failure reported
  std::atomic<std::int64_t> last_durable;
  std::atomic<std::int64_t> releasing;  // S alone: the step whose blocks are being released, stored or given up; else kNoStep
  std::atomic<std::int32_t> first_error;
  // What the server is doing, for the message of a client's time-out: S writes, C reads, both relaxed; text may be torn.
  std::atomic<std::int64_t> busy_since_ns;  // steady clock, 0: not in a plugin
  std::atomic<char> busy_with[96];
};

inline constexpr std::int64_t kNoStep = -1;  // steps are 0 or more

enum class SlotState : std::uint32_t {
  free = 0,
  claimed = 1,   // C: owns the slot, is preparing its arena
  attached = 2,  // C release: may send
  drained = 3,   // S release: finalize seen and everything of it processed
  dead = 4,      // S: the process ended without finalize
};

struct Mail {
  std::int64_t step;
  std::int32_t code;
  char sentence[500];
};
inline constexpr std::uint32_t kMails = 8;  // a power of two

struct alignas(kLine) ClientSlot {
  std::atomic<std::uint32_t> state;                     // SlotState: C free->claimed->attached, S the rest
  std::atomic<std::int32_t> id;                         // C before attached
  std::atomic<std::uint64_t> claimer;                   // C compare-exchange: word_of the process that may make it attached, or 0
  std::int32_t pid;                                     // C before attached
  std::uint64_t start_time;                             // C before attached
  std::uint64_t space;                                  // C before attached: PID and time namespace of both
  std::atomic<std::uint32_t> waits_for_room;            // C: threads of it that do
  alignas(kLine) std::atomic<std::int64_t> ended_step;  // S release: highest step the server has seen this client end
  // Mailbox: S fills mails[head % kMails] and bumps head (release); C empties and bumps tail (release).
  alignas(kLine) std::atomic<std::uint32_t> mail_head;
  alignas(kLine) std::atomic<std::uint32_t> mail_tail;
  Mail mails[kMails];
};

// One per lane: client slot * threads + thread. Constant after start-up.
struct LaneSpan {
  std::uint64_t lane_offset;
  std::uint64_t arena_offset;
  std::uint64_t arena_bytes;
  std::uint64_t arena;  // the lane whose `released` counts for the arena: its own, or 0 in a shared pool
};

struct LaneHeader {
  alignas(kLine) std::atomic<std::uint64_t> head;  // C release, S acquire: events pushed
  alignas(kLine) std::atomic<std::uint64_t> tail;  // S release, C acquire: events taken
  // S and C release, C acquire: bytes of blocks given back in this lane's arena.
  alignas(kLine) std::atomic<std::uint64_t> released;
  // shm::Message ring[lane_events] follows
};

inline constexpr std::uint64_t kMixedSpaces = ~0ull;
inline constexpr std::uint64_t kNoBlock = ~0ull;

// The state of an arena, which can be rebuilt from its block headers.
struct ArenaState {
  std::uint64_t first_free = kNoBlock;
  std::uint64_t free_bytes = 0;
  std::uint64_t swept = 0;  // value of `released` at the last sweep
  std::uint64_t reserved_bytes = 0;  // bytes reserved so far; equal to `released` when every block has been released
  std::uint64_t reserved_at_reset = 0;
};

// Of a pool that all clients share. The process that takes the lock over from a dead owner rebuilds `state` from the blocks.
struct alignas(kLine) PoolHeader {
  // C, and S when a client has died: the process that has the lock, its start time above its number; 0: none.
  std::atomic<std::uint64_t> owner;
  std::atomic<std::uint32_t> bell;  // bumped when the lock is released
  // S at first; C, with kMixedSpaces, when it is in another one: then process numbers do not show which process is dead.
  std::atomic<std::uint64_t> space;    // PID and time namespace of all
  std::atomic<std::uint32_t> waiting;  // processes that wait; one that died while waiting still counts
  ArenaState state;                    // under the lock
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace damaris::shm
