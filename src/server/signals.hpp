// The signals in progress: which clients have sent each instance, and which global instances wait for other servers (rule 3 of
// docs/rules.md).
// Used by: the server's dispatch thread only.
// Before it: a signal message of one client. After it: actions of scope core, node or global.
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
          std::function<void(const Status&)> report_failure);

  // Client `member` has sent event `event` in `step`: runs the actions that are due.
  void receive(const Member& member, std::uint32_t event, std::int64_t step);
  // Executes the decisions received, in the common order, and discards instances older than the global time-out.
  // Returns whether anything was done.
  bool decide();
  // Step `step` is complete on this server: reports and discards its incomplete instances.
  void complete(std::int64_t step);
  // The server is stopping: incomplete instances stay incomplete.
  void stop() noexcept { stopped_ = true; }
  // True while global instances hold a step.
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
  std::function<void(const Status&)> report_failure_;  // records a failure of an action
  bool stopped_ = false;
  std::size_t left_count_ = 0;                                             // members that had left at the last check
  std::map<std::pair<InstanceKey, std::uint32_t>, std::uint32_t> counts_;  // (event, step, 0), slot -> signals so far
  std::map<InstanceKey, std::set<std::uint32_t>> senders_;                 // incomplete instances: slots that have sent it
  std::map<InstanceKey, Deadline> waiting_;                                // announced, undecided
  std::uint64_t core_order_ = 0, node_order_ = 0;
};

}  // namespace damaris::server
