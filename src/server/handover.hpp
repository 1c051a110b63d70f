// What the two sides of a server hand each other: jobs for the work side, answers for the intake side. Both are owned values; nothing else
// is shared but the datasets of the one step that is lent out, which stay where they are until the answer.
// Used by: the intake thread and the work thread; in place one thread is both.
// Before it: a complete step, a signal, a read. After it: plugins and other servers, then the release of blocks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/shm/doorbell.hpp"
#include "server/intake.hpp"
#include "server/ledger.hpp"
#include "server/library/serving.hpp"
#include "server/plugin_host.hpp"

namespace damaris::server {

// A bounded queue from one thread to another, without a lock: neither side ever waits for the other. One side pushes owned values, the other
// pops them in order.
template <class T>
class Ring {
 public:
  explicit Ring(std::size_t capacity) : slots_(capacity) {}

  // Returns false if the ring is full; `value` stays with the caller then.
  bool try_push(T& value) {
    if (full()) return false;
    const std::size_t head = head_.load(std::memory_order_relaxed);
    slots_[head % slots_.size()] = std::move(value);
    head_.store(head + 1, std::memory_order_release);
    return true;
  }
  std::optional<T> try_pop() {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (head_.load(std::memory_order_acquire) == tail) return std::nullopt;
    T& slot = slots_[tail % slots_.size()];
    std::optional<T> value(std::move(slot));
    slot = T();  // what it held is freed by the side that took it
    tail_.store(tail + 1, std::memory_order_release);
    return value;
  }
  // For the pushing side: once false it stays so until it pushes.
  bool full() const noexcept {
    return head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_acquire) == slots_.size();
  }
  // For the popping side.
  bool empty() const noexcept { return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_relaxed); }

 private:
  std::vector<T> slots_;
  alignas(64) std::atomic<std::size_t> head_{0};  // the pushing side's
  alignas(64) std::atomic<std::size_t> tail_{0};  // the popping side's
};

// ---- jobs, in the order in which the work side takes them

struct SetClients {
  std::vector<std::int32_t> ids;
};
// Runs the actions of one scope for one instance of an event.
struct RunActions {
  InstanceKey key;
  dc_scope scope = DC_SCOPE_CORE;
  std::int32_t source = -1;  // the client, of scope core
  std::uint32_t slot = 0;    // its
  std::uint64_t order = 0;
  std::size_t seen = 0;  // datasets that had arrived when the signal did
  StepSnapshot step;     // made when the job is handed over
};
// Gives a complete step to the plugins; what `view` points to belongs to the ledger and stays until the answer.
struct ProcessStep {
  dc_step_t view = {};
  Clock::time_point complete_since;
};
// No other steps come up to `step`.
struct EndSteps {
  std::int64_t step = 0;
  std::vector<dc_lost_t> lost;
  std::size_t never_attached = 0;
};
struct CompleteStep {  // for the coordinator, as the next two
  std::int64_t step = 0;
};
struct Announce {
  InstanceKey key;
};
struct Abandon {
  InstanceKey key;
};
struct ServeRead {
  ReadRequest request;
};
// Bytes of logs, and what asks when they are stored.
struct LogAppend {
  std::uint32_t log = 0, file = 0;
  std::int64_t stream = 0;
  AppendedBlock bytes;
  bool is_implausible = false;                                     // its place cannot be true, so it is rejected
  enum class Fate { waiting, stored, left } fate = Fate::waiting;  // left: a recovery cannot store it, and it stays in the region
};
struct LogCommit {
  std::uint32_t log = 0;
  bool durable = true;
  std::optional<ReadRequest> asked;      // of a client that waits for the answer
  std::optional<std::uint32_t> leaving;  // the slot of a client that finalizes
};
struct StoreLogs {
  std::vector<LogAppend> appends;
  std::vector<LogCommit> commits;  // of all of the appends, and earlier ones
};
// Nothing more comes: agree with the other servers on the end.
struct Leave {};
struct FinalizePlugins {
  std::vector<dc_lost_t> lost;
  std::size_t never_attached = 0;
  bool has_unstored_appends = false;  // to recovery
};
using Job = std::variant<SetClients, RunActions, ProcessStep, EndSteps, CompleteStep, Announce, Abandon, ServeRead, StoreLogs,
                         Leave, FinalizePlugins>;

// ---- answers

struct ActionsRun {
  InstanceKey key;
  dc_scope scope = DC_SCOPE_CORE;
  std::uint32_t slot = 0;
  std::vector<Status> reports;  // failures and notices
};
struct StepProcessed {
  std::int64_t step = 0;
  PluginHost::StepResult result;
};
// The storage could not store the step up to the end of the run: it and all later ones are left to recovery.
struct StepLeft {
  std::int64_t step = 0;
  std::string why;
};
struct StepsEnded {
  std::int64_t step = 0;
};
struct PluginReport {  // outside of any step
  Status status;
};
struct ReadServed {
  HeldBlock block;
};
struct LogsStored {
  StoreLogs job;
  Status failure;              // of a write: hand out the waiting appends again
  Status left;                 // why appends are left; DC_OK if there are no such ones
  std::vector<Status> synced;  // one for each commit
  std::size_t rejected = 0;    // appends whose places cannot be true: a client has damaged the region
};
struct AllLeft {};  // the other servers, too
struct PluginsFinalized {
  Status status;
};
using Answer = std::variant<ActionsRun, StepProcessed, StepLeft, StepsEnded, PluginReport, Decision, ReadServed, LogsStored,
                            AllLeft, PluginsFinalized>;

class Handover {
 public:
  Ring<Job> jobs{128};
  Ring<Answer> answers{128};
  std::atomic<bool> urgent{false};  // a client or another step waits for the step in hand
  std::atomic<bool> ending{false};  // no time is left for what the storage cannot store

  // Work: has looked for messages of other servers; the answers that this has brought are in the ring.
  void note_look() noexcept { looks_.fetch_add(1, std::memory_order_release); }
  // Intake: asks first and takes the answers then, so that it has all that these looks have brought.
  std::uint64_t looks() const noexcept { return looks_.load(std::memory_order_acquire); }

  // Work: its last word.
  void fail_work(Status error) noexcept {
    work_error_ = std::move(error);
    work_has_failed_.store(true, std::memory_order_release);
  }
  const Status* work_error() const noexcept { return work_has_failed_.load(std::memory_order_acquire) ? &work_error_ : nullptr; }
  // Intake: what its sleep ends for.
  bool has_news() const noexcept { return !answers.empty() || work_error() != nullptr; }
  // Intake: its last word.
  void end_intake() noexcept {
    intake_has_ended_.store(true, std::memory_order_relaxed);
    wake_work();
  }
  bool intake_has_ended() const noexcept { return intake_has_ended_.load(std::memory_order_relaxed); }

  void wake_work() noexcept { shm::ring(bell_, work_sleeps_); }
  // Until there is a job, or the intake side has ended.
  void sleep_as_work(std::int64_t timeout_ms) noexcept {
    shm::sleep_on(bell_, work_sleeps_, timeout_ms, [this] { return !jobs.empty() || intake_has_ended(); });
  }

 private:
  std::atomic<std::uint32_t> bell_{0};
  std::atomic<std::uint32_t> work_sleeps_{0};
  std::atomic<std::uint64_t> looks_{0};
  std::atomic<bool> work_has_failed_{false}, intake_has_ended_{false};
  Status work_error_;
};

}  // namespace damaris::server
