#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <new>

#include "child_process.hpp"
#include "core/base/error.hpp"
#include "core/shm/shared_memory.hpp"
#include "machine.hpp"
#include "queue/queues.hpp"

namespace damaris::bench {
namespace {

constexpr unsigned kLimitS = 120;

// In memory that the children share: a named object whose name is gone at once.
struct Shared {
  std::atomic<int> started{0};
  std::atomic<bool> go{false};
  std::atomic<std::int64_t> cpu_ns{0};
};

void produce(Shared& shared, int producer, const std::function<void(int)>& send) {
  pin_to_client_core();
  ++shared.started;
  while (!shared.go) ::sched_yield();
  const double cpu = thread_cpu_ns();
  send(producer);
  shared.cpu_ns += static_cast<std::int64_t>(thread_cpu_ns() - cpu);
}

}  // namespace

Sample run_processes(int producers, std::int64_t messages, const std::function<void(int)>& send,
                     const std::function<void()>& receive) {
  shm::SharedMemory memory =
      shm::SharedMemory::create("/damaris.bench." + std::to_string(::getpid()), sizeof(Shared), sizeof(Shared));
  memory.unlink_name();
  auto& shared = *new (memory.data()) Shared;
  ::alarm(kLimitS);
  std::deque<ChildProcess> children;
  for (int producer = 0; producer < producers; ++producer)
    children.emplace_back([&, producer] { produce(shared, producer, send); });
  pin_to_server_core();
  while (shared.started < producers) ::sched_yield();
  const double cpu = thread_cpu_ns();
  const Clock::time_point start = Clock::now();
  shared.go = true;
  receive();
  const double wall_ns = seconds_since(start) * 1e9;
  const double own_cpu_ns = thread_cpu_ns() - cpu;
  for (ChildProcess& child : children)
    if (child.wait(1000 * kLimitS) != ChildProcess::State::ended_well)
      throw Error(DC_E_INTERNAL, "a producer of the queue benchmark ended before its time");
  ::alarm(0);
  const auto count = static_cast<double>(messages);
  return {wall_ns / count, (own_cpu_ns + static_cast<double>(shared.cpu_ns)) / count};
}

}  // namespace damaris::bench
