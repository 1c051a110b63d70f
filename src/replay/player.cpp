#include "replay/player.hpp"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
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

std::uint64_t largest_io(const Plan& plan) {
  std::uint64_t largest = 0;
  for (const Operation& one : plan.operations)
    if (one.kind == Kind::read || one.kind == Kind::write) largest = std::max(largest, one.bytes);
  return largest;
}

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
  if (--thread.all.running == 0) wake_all(thread.all.running);
  return nullptr;
}

// Starts them; those that could not be started are not in `threads`.
void start(Stage& stage, std::deque<Thread>& threads) {
  pthread_attr_t small;
  ::pthread_attr_init(&small);
  ::pthread_attr_setstacksize(&small, kStackBytes);
  for (std::uint32_t i = 0; i < stage.plan.processes.size() && !stage.stopped; ++i) {
    Thread& one = threads.emplace_back(stage, i);
    ++stage.running;
    const int error = ::pthread_create(&one.id, &small, run_thread, &one);
    if (error == 0) continue;
    threads.pop_back();
    --stage.running;
    stage.fail(format("cannot make a thread for each of {} processes: {}; raise the limit of processes, see ulimit -u",
                      stage.plan.processes.size(), std::strerror(error)));
  }
  ::pthread_attr_destroy(&small);
}

// Until all threads have ended.
void watch(Stage& stage, std::deque<Thread>& threads, const std::atomic<int>& interrupted,
           const std::function<void(std::size_t)>& progress) {
  Waiter waiter(stage.stopped);
  for (std::uint32_t running = stage.running; running != 0; running = stage.running) {
    const std::uint64_t wake = now_ns() + (stage.stopped ? kStopPollNs : kPollNs);
    const timespec until{static_cast<time_t>(wake / 1'000'000'000), static_cast<long>(wake % 1'000'000'000)};
    if (stage.stopped) {
      for (Thread& one : threads) one.worker.wake();
      ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
      continue;
    }
    waiter.wait(stage.running, running, &until);
    if (interrupted != 0) stage.stopped = true;
    if (!progress) continue;
    std::size_t done = 0;
    for (const Thread& one : threads) done += one.worker.done();
    progress(done);
  }
}

}  // namespace

Stage::Stage(const Plan& the_plan, const PlayFolder& the_folder)
    : plan(the_plan),
      folder(the_folder),
      contents(largest_io(plan), 0),
      posted(new Event[plan.messages.size()]),
      awaited(new Event[plan.messages.size()]),
      meetings(new Meeting[plan.collectives.size()]),
      passed(new Event[plan.members.size()]) {
  result.ends.resize(plan.processes.size());
  result.io_ns.resize(plan.operations.size());
  result.late.resize(plan.operations.size());
  if (plan.processes.size() < std::thread::hardware_concurrency()) spin_ns = 50'000;
}

void Stage::fail(const std::string& sentence) {
  const std::lock_guard lock(mutex);
  if (failure.empty()) failure = sentence;
  stopped = true;
}

Played play(const Plan& plan, const PlayFolder& folder, const std::atomic<int>& interrupted,
            const std::function<void(std::size_t)>& progress) {
  raise_open_files();
  Stage stage(plan, folder);
  std::deque<Thread> threads;
  start(stage, threads);
  // So late that all threads are there.
  stage.start = now_ns() + 10'000'000 + plan.processes.size() * 50'000;
  stage.begun.set(0);
  watch(stage, threads, interrupted, progress);
  for (const Thread& one : threads) ::pthread_join(one.id, nullptr);
  if (!stage.failure.empty()) throw Error(DC_E_IO, stage.failure);
  if (stage.stopped) throw Error(DC_E_STOPPED, "interrupted");
  stage.result.total = stage.last;
  stage.result.short_reads = stage.short_reads;
  return std::move(stage.result);
}

}  // namespace damaris::replay
