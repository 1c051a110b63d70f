// The messages of a lane: the closed list of what a client sends its server, 64 bytes each.
// Used by: clients (one writer per lane) and the server's dispatch thread (the only reader), or a recovery in its place.
// Before it: dc_write, dc_signal, ... After it: a lane, then the server's intake.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

namespace damaris::shm {

enum class MessageKind : std::uint32_t {
  write = 1,          // a block was published: `block_offset`
  signal = 2,         // a user's event: `name` is its id
  end_iteration = 3,  // this lane sends nothing more for steps <= `step`
  set_time = 4,       // `time` is the physical time of `step`
  flush = 5,          // a client waits for `step`: do not defer it
  finalize = 6,       // the lane's last message
  read = 7,           // the client asks for a block: `block_offset`, to be filled with what an earlier run stored of `step`
  last_step = 8,  // the client asks for the last step stored of variable `name`, or of kAnyVariable; the answer goes into a block
  skipped = 9,    // `count` writes of variable `name` in `step` were refused, because the variable may be skipped
  dropped = 10,   // the same, because the whole step is dropped
};

struct alignas(64) Message {
  MessageKind kind;
  std::uint32_t name;  // signal: event id; last_step, skipped, dropped: variable id
  std::int64_t step;
  std::uint64_t block_offset;  // write, read, last_step: of the block header in the region, bytes
  double time;                 // set_time: in the simulation's unit
  std::uint64_t serial;        // place in the lane, from 0; a mismatch shows a damaged lane
  std::uint64_t count;         // skipped, dropped: writes; end_iteration: writes that waited for room since the last
  std::uint64_t reserved;
};
static_assert(sizeof(Message) == 64 && std::is_trivially_copyable_v<Message>);

inline constexpr std::uint32_t kAnyVariable = ~std::uint32_t{0};
inline constexpr std::int64_t kHighestStep = std::int64_t{1} << 62;  // a sum of steps does not overflow

// True for the kinds of this version: the server checks before it dispatches.
bool known(MessageKind kind) noexcept;
const char* kind_name(MessageKind kind) noexcept;
std::string to_string(const Message& message);

}  // namespace damaris::shm
