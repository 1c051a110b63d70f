// The side of the server that processes data: runs plugins, including the storage, and coordinates with other servers.
// Used by: the process's main thread, so that MPI stays FUNNELED; in place, the simulation's own.
// Before it: jobs of the intake side. After it: files, and answers for the intake side.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/base/clock.hpp"
#include "core/model/model.hpp"
#include "core/shm/region.hpp"
#include "server/handover.hpp"
#include "server/intake.hpp"
#include "server/library/serving.hpp"
#include "server/log_store.hpp"
#include "server/plugin_host.hpp"

namespace damaris::server {

class WorkSide {
 public:
  // Loads and initializes the plugins: throws Error if one is missing or fails. `clients`: ids of the expected clients, as far as known.
  WorkSide(std::shared_ptr<const model::Model> model, std::shared_ptr<shm::Region> region, const VariableInfos& infos,
           std::unique_ptr<Coordinator> coordinator, std::vector<std::int32_t> clients, Handover& handover);

  // This server's index and the number of servers never change; any thread may ask.
  int index() const { return coordinator_->index(); }
  // In place: the other processes have ended `step` as well.
  bool agreed(std::int64_t step) const { return coordinator_->agreed(step); }
  std::set<std::int64_t> partial_steps() const { return host_.partial_steps(); }
  void drop_plugins() noexcept { host_.abandon(); }

  // Takes jobs, delivers messages of other servers, and gives the step in hand to the plugins once. Returns whether anything was done.
  bool work_once();
  // True if a later round may have work without a new job: a plugin or another server is awaited.
  bool waits() const noexcept { return step_ || state_ == State::leaving; }
  // Messages of other servers, or work of plugins outside of any step, may come at any time.
  bool may_be_called_upon() const noexcept { return coordinator_->count() > 1 || host_.wants_idle(); }
  // The storage retries what the file system refuses.
  bool is_blocked() const noexcept { return !host_.trouble().empty(); }
  bool has_finalized() const noexcept { return state_ == State::finalized; }

 private:
  enum class State {
    working,
    leaving,    // the intake side has nothing more; the other servers may
    left,       // all servers have ended
    finalized,  // and the plugins
  };

  bool send_answers();
  bool run_jobs();
  bool forward_decisions();
  bool deliver_posts();
  bool work_at_step();
  bool idle();
  bool try_leave();
  void log_awaited_servers();
  void answer(Answer answer) { unsent_.push_back(std::move(answer)); }
  void report(const Status& status);

  void run(SetClients& job);
  void run(RunActions& job);
  void run(ProcessStep& job);
  void run(EndSteps& job);
  void run(CompleteStep& job);
  void run(Announce& job);
  void run(Abandon& job);
  void run(ServeRead& job);
  void run(StoreLogs& job);
  void run(Leave& job);
  void run(FinalizePlugins& job);
  Status fill(const ReadRequest& request);

  std::shared_ptr<const model::Model> model_;
  std::shared_ptr<shm::Region> region_;
  std::unique_ptr<Coordinator> coordinator_;
  PluginHost host_;
  std::optional<LogStore> logs_;  // once the storage has begun
  Handover& handover_;
  State state_ = State::working;
  std::deque<Answer> unsent_;           // the ring was full
  std::optional<ProcessStep> step_;     // in hand
  std::int64_t passed_ = shm::kNoStep;  // the last step that plugins have been notified of as passed
  std::optional<Deadline> awaited_log_deadline_;
};

}  // namespace damaris::server
