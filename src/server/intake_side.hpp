// The side of the server that faces its clients: drains lanes, validates blocks, keeps the ledger, spills, detects dead clients, and releases
// blocks once the work side has stored them.
// Used by: the intake thread of a server; in place, the simulation's own. It calls no plugin, no HDF5 and no MPI, and waits for none.
// Before it: lanes and arenas of one region. After it: jobs for the work side; frontier, reports and free blocks for clients.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "core/model/model.hpp"
#include "core/shm/region.hpp"
#include "server/adoption.hpp"
#include "server/back_pressure.hpp"
#include "server/failures.hpp"
#include "server/handover.hpp"
#include "server/intake.hpp"
#include "server/ledger.hpp"
#include "server/log_intake.hpp"
#include "server/roster.hpp"
#include "server/signals.hpp"

namespace damaris::server {

class IntakeSide {
 public:
  IntakeSide(std::shared_ptr<const model::Model> model, std::shared_ptr<shm::Region> region, const VariableInfos& infos,
             Handover& handover, Failures& failures);

  // Takes over the contents of a dead server's region. Call once, before the first drain. Throws as Adoption does.
  void adopt(bool ignore_missing_spill);
  const std::optional<Adoption>& adoption() const noexcept { return adoption_; }

  // Admits clients that have attached since the last call. Returns whether there was one.
  bool admit() { return !roster_.all_present() && roster_.admit(); }
  // Ids of the admitted clients, ascending.
  std::vector<std::int32_t> ids() const;
  // Each returns whether something was done.
  bool drain(bool even_resting = false);
  bool watch_clients();
  bool check_signals() { return signals_.check(); }
  bool deliver_mail() { return roster_.deliver(); }
  // Moves a block to the spill file if back-pressure requires it; never one that a plugin may read at this moment.
  bool spill_one();
  // Marks steps as complete that every client has ended.
  bool complete_steps();

  void submit(Job job);
  // Passes on what the work side can take: reads first, one action's view and one step at a time. `urgent`: the server is to end.
  // `ending`: and there is no time left for what the storage cannot store.
  bool send_jobs(bool urgent, bool ending = false);
  // Takes the answers of the work side: releases blocks, advances the frontier, reports errors.
  bool handle_answers();
  // The last step: announces to the work side that nothing more comes.
  void submit_leave();
  bool all_servers_left() const noexcept { return all_servers_left_; }
  void submit_finalize() { submit(FinalizePlugins{lost(), never_attached(), has_unstored_appends()}); }
  // The result of the plugins' finalize, once it has arrived.
  const std::optional<Status>& finalize_result() const noexcept { return finalize_result_; }

  // Accepts no more clients, and no messages beyond those in the lanes now.
  void stop();
  void stop_accepting();
  // Lets finalized clients leave whose last step is processed; `all`: every finalized client. Each waits at most `hold_ms` for its reports.
  void dismiss_clients(bool all, std::int64_t hold_ms);
  // No finalized client is left to be released.
  bool all_released() const;
  bool has_messages() const;
  // True if a later round may have work even without a new message.
  bool busy() const;
  // Global instances of a step up to `last` are undecided, or have not run.
  bool has_globals(std::int64_t last) const noexcept { return signals_.pending(last); }
  std::int64_t completed() const noexcept { return completed_; }
  bool all_left() const { return roster_.all_left(); }
  // Nothing is held except steps that are left to recovery; nothing is submitted or handed out.
  bool is_drained() const { return (has_unstored_steps_ || ledger_.empty()) && !busy(); }

  void notify_all_clients(const Status& status) { roster_.notify_all_clients({highest_step(), status}); }

  Spill& spill_file() noexcept { return ledger_.spill_file(); }
  bool all_stored() const noexcept { return all_durable_ && !logs_.leaves(); }
  // The file system refuses what was appended to logs.
  bool logs_are_blocked() const noexcept { return !logs_.block_reason().empty(); }
  // The storage could not store a step up to the end: it and all later ones stay where they are, for recovery.
  bool has_unstored_steps() const noexcept { return has_unstored_steps_; }
  // The same of appends to logs.
  bool has_unstored_appends() const noexcept { return logs_.leaves(); }

 private:
  bool is_over_quota(const Member& member) const;
  bool drain_lane(Member& member, Lane& lane);
  void dispatch(Member& member, Lane& lane, const shm::Message& message);
  void receive_read(Member& member, Lane& lane, const shm::Message& message);
  void record_time(const shm::Message& message);
  void receive_omission(Member& member, Lane& lane, const shm::Message& message);
  void receive_block(Member& member, const Lane& lane, const shm::Message& message);
  void receive_log_message(Member& member, Lane& lane, const shm::Message& message);
  void reject(Member& member, Lane& lane, const std::string& why);
  void stop_waiting();
  void watch_plugins();
  void reclaim();
  void record_absent_clients(Step& step) const;
  void add_to_totals(const PluginHost::StepResult& result);
  void release(std::int64_t step, bool durable);
  bool send_reads();
  bool send_logs(bool ending);
  bool send_backlog();
  bool send_action();
  bool send_step(bool urgent);
  void publish_frontier(bool durable);
  std::string unstored_text(std::int64_t step);
  std::string recovery_hint(const char* cause);
  bool client_waits() const;
  // Clients that will be missing from later steps. In a damaged region no step of a dead client is certain beyond the settled ones.
  std::vector<dc_lost_t> lost() const;
  std::size_t never_attached() const;

  void handle(ActionsRun& answer);
  void handle(StepProcessed& answer);
  void handle(StepLeft& answer);
  void handle(StepsEnded& answer);
  void handle(PluginReport& answer);
  void handle(Decision& answer);
  void handle(ReadServed& answer);
  void handle(LogsStored& answer);
  void handle(AllLeft& answer);
  void handle(PluginsFinalized& answer);
  std::int64_t highest_step() const noexcept { return std::max<std::int64_t>(ledger_.highest_step(), 0); }

  std::shared_ptr<const model::Model> model_;
  std::shared_ptr<shm::Region> region_;
  const VariableInfos& infos_;
  Handover& handover_;
  Failures& failures_;
  Ledger ledger_;
  Roster roster_;
  Signals signals_;
  BackPressure back_pressure_;
  LogIntake logs_;
  bool has_rejected_appends_ = false;
  std::optional<Adoption> adoption_;  // set when recovering a dead server's region
  std::deque<Job> reads_, backlog_;   // not handed out yet, as the next two
  std::deque<RunActions> actions_;
  std::map<std::int64_t, std::size_t> actions_of_;  // how many, by step
  std::size_t reads_in_work_ = 0;                   // handed out and not answered, as the next three
  bool action_running_ = false;
  std::optional<std::int64_t> step_in_work_, ending_steps_;
  bool all_servers_left_ = false;
  std::optional<Status> finalize_result_;
  std::int64_t completed_ = shm::kNoStep;
  bool all_durable_ = true, times_lost_ = false;
  std::uint64_t given_up_ = 0;  // steps
  bool has_unstored_steps_ = false;
  Deadline attach_deadline_;
  Clock::time_point next_watch_ = Clock::now();
  std::int64_t long_call_ns_ = 0;  // when the last call began that was logged
};

}  // namespace damaris::server
