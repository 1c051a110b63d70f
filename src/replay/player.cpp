#include "replay/player.hpp"

#include <pthread.h>
#include <sys/resource.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <thread>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "replay/worker.hpp"

namespace damaris::replay {
namespace {

constexpr std::size_t kStackBytes = 256 << 10;
constexpr std::uint64_t kPollNs = 100'000'000;
constexpr std::uint64_t kStopPollNs = 5'000'000;

// Each process may have files open.
void raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

struct Thread {
  Thread(Stage& stage, std::uint32_t process) : worker(stage, process), all(stage) {}

  Worker worker;
  Stage& all;
  pthread_t id{};
};

void* run_thread(void* given) {
  Thread& thread = *static_cast<Thread*>(given);
  thread.worker.run();
  if (--thread.all.common.running == 0) wake_all(thread.all.common.running);
  return nullptr;
}

// Starts them; those that could not be started are not in `threads`.
void start(Stage& stage, std::deque<Thread>& threads) {
  pthread_attr_t small;
  ::pthread_attr_init(&small);
  ::pthread_attr_setstacksize(&small, kStackBytes);
  for (std::uint32_t i = 0; i < stage.plan.processes.size() && !stage.common.stopped; ++i) {
    Thread& one = threads.emplace_back(stage, i);
    ++stage.common.running;
    const int error = ::pthread_create(&one.id, &small, run_thread, &one);
    if (error == 0) continue;
    threads.pop_back();
    --stage.common.running;
    stage.fail(format("cannot make a thread for each of {} processes: {}; raise the limit of processes, see ulimit -u",
                      stage.plan.processes.size(), std::strerror(error)));
  }
  ::pthread_attr_destroy(&small);
}

// Until all threads have ended.
void watch(Stage& stage, std::deque<Thread>& threads, const std::atomic<int>& interrupted,
           const std::function<void(std::size_t)>& progress) {
  Waiter waiter(stage.common.stopped);
  for (std::uint32_t running = stage.common.running; running != 0; running = stage.common.running) {
    const std::uint64_t wake = now_ns() + (stage.common.stopped ? kStopPollNs : kPollNs);
    const timespec until{static_cast<time_t>(wake / 1'000'000'000), static_cast<long>(wake % 1'000'000'000)};
    if (stage.common.stopped) {
      for (Thread& one : threads) one.worker.wake();
      ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
      continue;
    }
    waiter.wait(stage.common.running, running, &until);
    if (interrupted != 0) stage.common.stopped = true;
    if (!progress) continue;
    std::size_t done = 0;
    for (const Thread& one : threads) done += one.worker.done();
    progress(done);
  }
}

}  // namespace

Played play(const Plan& plan, const PlayFolder& folder, const std::atomic<int>& interrupted,
            const std::function<void(std::size_t)>& progress) {
  raise_open_files();
  Stage stage(plan, folder);
  std::deque<Thread> threads;
  start(stage, threads);
  // So late that all threads are there.
  stage.common.start = now_ns() + 10'000'000 + plan.processes.size() * 50'000;
  stage.common.begun.set(0);
  watch(stage, threads, interrupted, progress);
  for (const Thread& one : threads) ::pthread_join(one.id, nullptr);
  return stage.result();
}

void take_part(Stage& stage, std::uint32_t process) {
  raise_open_files();
  Worker worker(stage, process);
  std::atomic<bool> is_done{false};
  std::thread watcher([&] {
    for (; !is_done; std::this_thread::sleep_for(std::chrono::nanoseconds(kStopPollNs)))
      if (stage.common.stopped) worker.wake();
  });
  if (++stage.common.ready == stage.plan.processes.size()) {
    stage.common.start = now_ns() + 10'000'000;
    stage.common.begun.set(0);
  }
  worker.run();
  is_done = true;
  watcher.join();
}

}  // namespace damaris::replay
