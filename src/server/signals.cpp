#include "server/signals.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"

namespace damaris::server {
namespace {

std::string describe(const model::Model& model, const InstanceKey& key) {
  return format("event '{}' (instance {}) of step {}", model.events[key.event].name, key.instance, key.step);
}

// A client that finalized before the step, or died, sends nothing more, so the others do not wait for it. One that ended the step without
// sending the signal stays expected even after its finalize: its decision not to send counts.
bool is_expected_to_send(const Member& member, std::int64_t step) {
  if (!member.has_left()) return true;
  return member.presence != Member::Presence::gone && member.last_step >= step;
}

}  // namespace

Signals::Signals(std::shared_ptr<const model::Model> model, Ledger& ledger, Roster& roster, PluginHost& host,
                 Coordinator& coordinator, std::function<void(const Status&)> report_failure)
    : model_(std::move(model)),
      ledger_(ledger),
      roster_(roster),
      host_(host),
      coordinator_(coordinator),
      report_failure_(std::move(report_failure)) {}

bool Signals::has_scope(std::uint32_t event, dc_scope scope) const {
  const auto& actions = model_->events[event].actions;
  return std::any_of(actions.begin(), actions.end(), [&](const model::Action& a) { return a.scope == scope; });
}

void Signals::receive(const Member& member, std::uint32_t event, std::int64_t step) {
  if (model_->events[event].actions.empty()) return;
  const std::uint32_t instance = counts_[{InstanceKey{event, step, 0}, member.slot}]++;
  const InstanceKey key{event, step, instance};
  if (has_scope(event, DC_SCOPE_CORE)) run_scope(key, DC_SCOPE_CORE, member.id, core_order_++);
  if (!has_scope(event, DC_SCOPE_NODE) && !has_scope(event, DC_SCOPE_GLOBAL)) return;
  std::set<std::uint32_t>& senders = senders_[key];
  senders.insert(member.slot);
  if (sent_by_all(key, senders)) run_node(key);
}

// All clients of the server that are still expected to send the signal have sent it.
void Signals::run_node(const InstanceKey& key) {
  senders_.erase(key);
  if (has_scope(key.event, DC_SCOPE_NODE)) run_scope(key, DC_SCOPE_NODE, -1, node_order_++);
  if (!has_scope(key.event, DC_SCOPE_GLOBAL)) return;
  ++ledger_.open(key.step).pending_globals;
  waiting_.emplace(key, Deadline::after_ms(model_->architecture.global_timeout_ms));
  coordinator_.announce(key);
}

bool Signals::sent_by_all(const InstanceKey& key, const std::set<std::uint32_t>& senders) const {
  const auto& members = roster_.members();
  return std::all_of(members.begin(), members.end(), [&](const Member& member) {
    return !is_expected_to_send(member, key.step) || senders.count(member.slot) != 0;
  });
}

bool Signals::run_ready_instances() {
  const auto& members = roster_.members();
  const auto over =
      static_cast<std::size_t>(std::count_if(members.begin(), members.end(), [](const Member& m) { return m.has_left(); }));
  if (over == left_count_ || stopped_) return false;
  left_count_ = over;
  std::vector<InstanceKey> ready;
  for (const auto& [key, senders] : senders_)
    if (sent_by_all(key, senders)) ready.push_back(key);
  for (const InstanceKey& key : ready) run_node(key);
  return !ready.empty();
}

void Signals::run_scope(const InstanceKey& key, dc_scope scope, std::int32_t source, std::uint64_t order) {
  for (const model::Action& action : model_->events[key.event].actions)
    if (action.scope == scope && (!action.on_root || coordinator_.index() == 0)) run(action, key, source, order);
}

void Signals::run(const model::Action& action, const InstanceKey& key, std::int32_t source, std::uint64_t order) {
  const dc_event_t event = {model_->events[key.event].name.c_str(), key.step, action.scope, source, key.instance, order};
  const Status result = host_.run(action, event, ledger_.open(key.step).view(roster_.size()));
  if (result.code >= DC_OK && !result.is_notice()) return;
  if (!result.is_notice()) report_failure_(result);
  roster_.notify_all_clients({key.step, result});
}

bool Signals::end_waiting(const InstanceKey& key) {
  if (waiting_.erase(key) == 0) return false;
  if (Step* step = ledger_.find(key.step)) --step->pending_globals;
  return true;
}

bool Signals::decide() {
  bool worked = run_ready_instances();
  while (const auto decision = coordinator_.poll()) {
    worked = true;
    if (waiting_.count(decision->key) == 0) {
      // Not announced here, or abandoned: a cancellation is expected then, but an instance that other servers run is logged.
      if (decision->run)
        log_line(LogLevel::warning,
                 format("{} ran on other servers after this one had abandoned it", describe(*model_, decision->key)));
      continue;
    }
    if (decision->run)
      run_scope(decision->key, DC_SCOPE_GLOBAL, -1, decision->order);
    else
      drop(decision->key, "another server abandoned it, or did not receive it from all its clients");
    end_waiting(decision->key);
    ledger_.try_release(decision->key.step);
  }
  std::vector<InstanceKey> late;
  for (const auto& [key, deadline] : waiting_)
    if (deadline.passed()) late.push_back(key);
  for (const InstanceKey& key : late) {
    drop(key, format("no agreement of the servers within {} ms", model_->architecture.global_timeout_ms));
    coordinator_.abandon(key);
    end_waiting(key);
    ledger_.try_release(key.step);
    worked = true;
  }
  return worked;
}

void Signals::complete(std::int64_t step) {
  for (auto entry = senders_.begin(); entry != senders_.end() && entry->first.step <= step; entry = senders_.erase(entry)) {
    std::vector<std::int32_t> without;
    for (const Member& member : roster_.members())
      if ((stopped_ || is_expected_to_send(member, entry->first.step)) && entry->second.count(member.slot) == 0)
        without.push_back(member.id);
    drop(entry->first, format("not sent by client {} before the step ended", join(without, ", ")));
  }
  while (!counts_.empty() && counts_.begin()->first.first.step <= step) counts_.erase(counts_.begin());
  coordinator_.complete(step);
}

void Signals::drop(const InstanceKey& key, const std::string& why) {
  const std::string sentence = format("{} was discarded: {}", describe(*model_, key), why);
  log_line(LogLevel::warning, sentence);
  roster_.notify_all_clients({key.step, {DC_E_TIMEOUT, sentence}});
}

}  // namespace damaris::server
