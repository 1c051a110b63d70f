// The signals in progress: which clients have sent each instance, and which global instances wait for other servers (rule 3 of
// docs/rules.md).
// Used by: the intake side only.
// Before it: a signal message of one client. After it: jobs for the work side, which runs the actions and talks to the other servers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "server/handover.hpp"
#include "server/ledger.hpp"
#include "server/library/serving.hpp"
#include "server/roster.hpp"

namespace damaris::server {

class Signals {
 public:
  using Submit = std::function<void(Job)>;

  Signals(std::shared_ptr<const model::Model> model, Ledger& ledger, Roster& roster, Submit submit);

  // Client `member` has sent event `event` in `step`: submits the actions that are due.
  void receive(const Member& member, std::uint32_t event, std::int64_t step);
  // Handover::looks; what these have brought has been taken when check() is called.
  void note_looks(std::uint64_t looks) noexcept { looks_ = looks; }
  // A decision of the servers, in the common order.
  void decide(const Decision& decision);
  // The actions of an instance have run. `slot`: of the client that sent it, of scope core.
  void end_actions(const InstanceKey& key, dc_scope scope, std::uint32_t slot);
  // Signals of this client that the work side, or the agreement of the servers, has still to answer.
  std::size_t queued(const Member& member) const {
    return core_queued_[member.slot] + node_queued_ + waiting_.size() + running_.size();
  }
  // Submits instances that wait for members that have left, and discards those older than the global time-out. Returns whether anything
  // was done.
  bool check();
  // Step `step` is complete on this server: reports and discards its incomplete instances.
  void complete(std::int64_t step);
  // The server is stopping: incomplete instances stay incomplete.
  void stop() noexcept { stopped_ = true; }
  // True while global instances hold a step up to `last`.
  bool pending(std::int64_t last = kAllSteps) const noexcept {
    return (!waiting_.empty() && waiting_.begin()->first.step <= last) || (!running_.empty() && running_.begin()->step <= last);
  }

 private:
  // Undecided. Expired only after the work side has looked for decisions since the deadline: in a long call it cannot.
  struct Waiting {
    Deadline deadline;
    std::optional<std::uint64_t> late_at_look;
  };

  void submit_scope(const InstanceKey& key, dc_scope scope, std::uint64_t order, const Member* sender = nullptr);
  bool has_scope(std::uint32_t event, dc_scope scope) const;
  void drop(const InstanceKey& key, const std::string& why);
  void drop_excess(const InstanceKey& key);
  void end_global(const InstanceKey& key);
  bool expired(Waiting& waiting) const;
  bool expire();
  bool sent_by_all(const InstanceKey& key, const std::set<std::uint32_t>& senders) const;
  bool submit_ready_instances();
  void submit_node(const InstanceKey& key);

  std::shared_ptr<const model::Model> model_;
  Ledger& ledger_;
  Roster& roster_;
  Submit submit_;
  std::uint64_t looks_ = 0;
  bool stopped_ = false;
  std::size_t left_count_ = 0;                                             // members that had left at the last check
  std::map<std::pair<InstanceKey, std::uint32_t>, std::uint32_t> counts_;  // (event, step, 0), slot -> signals so far
  std::map<InstanceKey, std::set<std::uint32_t>> senders_;                 // incomplete instances: slots that have sent it
  std::map<InstanceKey, Waiting> waiting_;                                 // announced, undecided
  std::set<InstanceKey> running_;                                          // decided; their actions are submitted
  std::uint64_t core_order_ = 0, node_order_ = 0;
  std::vector<std::size_t> core_queued_;  // by slot, as the next: submitted and not run
  std::size_t node_queued_ = 0;
  std::int64_t step_in_excess_ = -1;  // the last step of which incomplete instances were discarded for their number
};

}  // namespace damaris::server
