// The signals in progress: which clients have sent each instance, and which global ones wait for other servers (rule 3 of
// docs/rules.md).
// Used by: the server's dispatch thread only.
// Before it: a signal event of one client. After it: actions run by scope core, node or global.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "server/ledger.hpp"
#include "server/library/coordinator.hpp"
#include "server/plugin_host.hpp"
#include "server/roster.hpp"

namespace damaris::server {

class Signals {
 public:
  Signals(std::shared_ptr<const model::Model> model, Ledger& ledger, Roster& roster, PluginHost& host, Coordinator& coordinator,
          std::function<void(int code, const std::string& sentence)> report_failure);

  // Client `member` has sent event `event` in `step`: runs what its scope allows now.
  void receive(const Member& member, std::uint32_t event, std::int64_t step);
  // Runs the decisions that have come, in the common order, and drops what is older than the global time-out.
  // Returns whether anything was done.
  bool decide();
  // Step `step` is complete here: what is still incomplete of it is reported and dropped.
  void complete(std::int64_t step);
  // The server has to stop: incomplete instances stay incomplete.
  void stop() noexcept { stopped_ = true; }
  // Global instances that still hold a step.
  bool pending() const noexcept { return !waiting_.empty(); }

 private:
  void run(const model::Action& action, const InstanceKey& key, std::int32_t source, std::uint64_t order);
  void run_scope(const InstanceKey& key, dc_scope scope, std::int32_t source, std::uint64_t order);
  bool has_scope(std::uint32_t event, dc_scope scope) const;
  void drop(const InstanceKey& key, const std::string& why);
  bool end_waiting(const InstanceKey& key);
  bool sent_by_all(const InstanceKey& key, const std::set<std::uint32_t>& senders) const;
  bool run_ready_instances();
  void run_node(const InstanceKey& key);

  std::shared_ptr<const model::Model> model_;
  Ledger& ledger_;
  Roster& roster_;
  PluginHost& host_;
  Coordinator& coordinator_;
  std::function<void(int, const std::string&)> report_failure_;  // a failure of an action, for the run's record
  bool stopped_ = false;
  std::size_t left_count_ = 0;                                             // members that were over at the last look
  std::map<std::pair<InstanceKey, std::uint32_t>, std::uint32_t> counts_;  // (event, step, 0), slot -> signals so far
  std::map<InstanceKey, std::set<std::uint32_t>> senders_;                 // incomplete instances: slots that have sent it
  std::map<InstanceKey, Deadline> waiting_;                                // announced, not decided
  std::uint64_t core_order_ = 0, node_order_ = 0;
};

}  // namespace damaris::server
