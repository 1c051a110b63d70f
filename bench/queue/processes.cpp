#include "queue/processes.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <new>
#include <vector>

#include "core/base/error.hpp"
#include "core/shm/shared_memory.hpp"
#include "machine.hpp"

namespace damaris::bench {
namespace {

constexpr unsigned kLimitS = 120;

// In memory that the children share: a named object whose name is gone at once.
struct Shared {
  std::atomic<int> started{0};
  std::atomic<bool> go{false};
  std::atomic<std::int64_t> cpu_ns{0};
};

[[noreturn]] void produce(Shared& shared, int producer, const std::function<void(int)>& send) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pin_to_client_core();
  ++shared.started;
  while (!shared.go) ::sched_yield();
  const double cpu = thread_cpu_ns();
  send(producer);
  shared.cpu_ns += static_cast<std::int64_t>(thread_cpu_ns() - cpu);
  ::_exit(0);
}

void wait_for_all(const std::vector<pid_t>& children) {
  bool well = true;
  for (const pid_t child : children) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    well &= status == 0;
  }
  if (!well) throw Error(DC_E_INTERNAL, "a producer of the queue benchmark ended before its time");
}

}  // namespace

Sample run_processes(int producers, std::int64_t messages, const std::function<void(int)>& send,
                     const std::function<void()>& receive) {
  shm::SharedMemory memory =
      shm::SharedMemory::create("/damaris.bench." + std::to_string(::getpid()), sizeof(Shared), sizeof(Shared));
  memory.unlink_name();
  auto& shared = *new (memory.data()) Shared;
  ::alarm(kLimitS);
  std::vector<pid_t> children;
  for (int producer = 0; producer < producers; ++producer) {
    const pid_t child = ::fork();
    if (child == 0) produce(shared, producer, send);
    if (child < 0) throw system_error(DC_E_MEMORY, "cannot start a producer", errno, "look at the limit of processes");
    children.push_back(child);
  }
  pin_to_server_core();
  while (shared.started < producers) ::sched_yield();
  const double cpu = thread_cpu_ns();
  const Clock::time_point start = Clock::now();
  shared.go = true;
  receive();
  const double wall_ns = seconds_since(start) * 1e9;
  const double own_cpu_ns = thread_cpu_ns() - cpu;
  wait_for_all(children);
  ::alarm(0);
  const auto count = static_cast<double>(messages);
  return {wall_ns / count, (own_cpu_ns + static_cast<double>(shared.cpu_ns)) / count};
}

}  // namespace damaris::bench
