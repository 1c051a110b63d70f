// Producers as processes of their own, started together, and one consumer: the calling process.
// Used by: the queue benchmark.
// Before it: a queue in shared memory, made before the fork. After it: the time of a message.
#pragma once

#include <cstdint>
#include <functional>

#include "stopwatch.hpp"

namespace damaris::bench {

// Forks `producers` processes onto the client's core; each runs send(producer) once all have started, while this process, on the
// server's core, runs receive(). Returns the times of one of `messages` messages, processor time over all processes.
// The whole is killed by SIGALRM when it takes more than two minutes: a benchmark must not hang.
Sample run_processes(int producers, std::int64_t messages, const std::function<void(int)>& send,
                     const std::function<void()>& receive);

}  // namespace damaris::bench
