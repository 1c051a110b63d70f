// Events through lanes as client and server push and take them, with the same waking and the same waits.
// Used by: the queue benchmark.
#pragma once

#include <cstdint>

#include "stopwatch.hpp"

namespace damaris::bench {

inline constexpr std::uint64_t kQueueEvents = 1024;  // capacity of a lane, and of the message_queue

// Sends `messages_each` events from each of `producers` processes to this one.
Sample run_lanes(int producers, std::int64_t messages_each);

}  // namespace damaris::bench
