// The same messages through a boost::interprocess::message_queue, as the yardstick.
// Used by: the queue benchmark.
#pragma once

#include <cstdint>

#include "stopwatch.hpp"

namespace damaris::bench {

// Sends `messages_each` messages of an event's size from each of `producers` processes to this one.
Sample run_message_queue(int producers, std::int64_t messages_each);

}  // namespace damaris::bench
