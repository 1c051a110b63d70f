// The messages of a lane: the closed set of what a client sends to its server, 64 bytes each.
// Used by: clients (one writer per lane) and the server's intake thread (the only reader), or a recovery in its place.
// Before it: dc_write, dc_signal, ... After it: a lane, then the server's intake.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

namespace damaris::shm {

enum class MessageKind : std::uint32_t {
  write = 1,          // a block was published: `block_offset`
  signal = 2,         // a user's event: `name` is its id
  end_iteration = 3,  // no further messages for steps <= `step` in this lane
  set_time = 4,       // `time` is the physical time of `step`
  flush = 5,          // the client waits for `step`: do not defer it
  finalize = 6,       // the lane's last message
  read = 7,           // requests data that an earlier run stored of `step`, into the block at `block_offset`
  last_step = 8,      // requests the last stored step of variable `name`, or of kAnyVariable, into the block at `block_offset`
  skipped = 9,        // `count` writes of variable `name` in `step` were refused: the variable is skipped
  dropped = 10,       // the same: the whole step is dropped
  append = 11,        // bytes of a log were published: `block_offset`; belongs to no step
  log_commit = 12,    // asks when all earlier appends of this lane to log `name` are in its files; with `count`, durable there
};

struct alignas(64) Message {
  MessageKind kind;
  std::uint32_t name;  // signal: event id; last_step, skipped, dropped: variable id; log_commit: log
  std::int64_t step;
  std::uint64_t block_offset;  // write, read, last_step, append, log_commit: offset of the block header in the region, bytes
  double time;                 // set_time: in the simulation's unit
  std::uint64_t serial;        // sequence number in the lane, from 0; a mismatch indicates a damaged lane
  std::uint64_t
      count;  // skipped, dropped: writes; end_iteration: writes that waited for room since the last one; log_commit: see there
  std::uint64_t reserved;
};
static_assert(sizeof(Message) == 64 && std::is_trivially_copyable_v<Message>);

inline constexpr std::uint32_t kAnyVariable = ~std::uint32_t{0};
inline constexpr std::int64_t kHighestStep = std::int64_t{1} << 62;  // the sum of two steps does not overflow

// True for the kinds of this version. The server checks before it dispatches.
bool known(MessageKind kind) noexcept;
const char* kind_name(MessageKind kind) noexcept;
std::string to_string(const Message& message);

}  // namespace damaris::shm
