// The same messages through lanes, with the waking and waits of client and server, and through a boost::interprocess::message_queue.
// Used by: the queue benchmark.
// Before it: nothing. After it: the time of a message.
#pragma once

#include <cstdint>
#include <functional>

#include "stopwatch.hpp"

namespace damaris::bench {

inline constexpr std::uint64_t kQueueEvents = 1024;  // capacity of a lane, and of the message_queue

// Send `messages_each` messages of an event's size from each of `producers` processes to this one.
Sample run_lanes(int producers, std::int64_t messages_each);
Sample run_message_queue(int producers, std::int64_t messages_each);

// Forks `producers` processes onto the client's core; each runs send(producer) once all have started, while this process, on the
// server's core, runs receive(). The queue was made before. Returns the times of one of `messages` messages, processor time over all
// processes. The whole is killed by SIGALRM when it takes more than two minutes: a benchmark must not hang.
Sample run_processes(int producers, std::int64_t messages, const std::function<void(int)>& send,
                     const std::function<void()>& receive);

}  // namespace damaris::bench
