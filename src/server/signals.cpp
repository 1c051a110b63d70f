#include "server/signals.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"

namespace damaris::server {
namespace {

constexpr std::size_t kMostIncomplete = 65'536;  // instances that wait for other clients, which may never send them

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

Signals::Signals(std::shared_ptr<const model::Model> model, Ledger& ledger, Roster& roster, Submit submit)
    : model_(std::move(model)), ledger_(ledger), roster_(roster), submit_(std::move(submit)), core_queued_(roster.size()) {}

bool Signals::has_scope(std::uint32_t event, dc_scope scope) const {
  const auto& actions = model_->events[event].actions;
  return std::any_of(actions.begin(), actions.end(), [&](const model::Action& a) { return a.scope == scope; });
}

void Signals::receive(const Member& member, std::uint32_t event, std::int64_t step) {
  if (model_->events[event].actions.empty()) return;
  const std::uint32_t instance = counts_[{InstanceKey{event, step, 0}, member.slot}]++;
  const InstanceKey key{event, step, instance};
  if (has_scope(event, DC_SCOPE_CORE)) submit_scope(key, DC_SCOPE_CORE, core_order_++, &member);
  if (!has_scope(event, DC_SCOPE_NODE) && !has_scope(event, DC_SCOPE_GLOBAL)) return;
  if (senders_.size() >= kMostIncomplete && senders_.count(key) == 0) return drop_excess(key);
  std::set<std::uint32_t>& senders = senders_[key];
  senders.insert(member.slot);
  if (sent_by_all(key, senders)) submit_node(key);
}

// All clients of the server that are still expected to send the signal have sent it.
void Signals::submit_node(const InstanceKey& key) {
  senders_.erase(key);
  if (has_scope(key.event, DC_SCOPE_NODE)) submit_scope(key, DC_SCOPE_NODE, node_order_++);
  if (!has_scope(key.event, DC_SCOPE_GLOBAL)) return;
  ++ledger_.open(key.step).pending_globals;
  waiting_.emplace(key, Waiting{Deadline::after_ms(model_->architecture.global_timeout_ms), {}});
  submit_(Announce{key});
}

bool Signals::sent_by_all(const InstanceKey& key, const std::set<std::uint32_t>& senders) const {
  const auto& members = roster_.members();
  return std::all_of(members.begin(), members.end(), [&](const Member& member) {
    return !is_expected_to_send(member, key.step) || senders.count(member.slot) != 0;
  });
}

bool Signals::submit_ready_instances() {
  const auto& members = roster_.members();
  const auto over =
      static_cast<std::size_t>(std::count_if(members.begin(), members.end(), [](const Member& m) { return m.has_left(); }));
  if (over == left_count_ || stopped_) return false;
  left_count_ = over;
  std::vector<InstanceKey> ready;
  for (const auto& [key, senders] : senders_)
    if (sent_by_all(key, senders)) ready.push_back(key);
  for (const InstanceKey& key : ready) submit_node(key);
  return !ready.empty();
}

// The actions see the datasets that have arrived so far, however late they run.
void Signals::submit_scope(const InstanceKey& key, dc_scope scope, std::uint64_t order, const Member* sender) {
  RunActions job{key, scope, -1, 0, order, ledger_.open(key.step).dataset_count(), {}};
  if (sender != nullptr) {
    job.source = sender->id;
    job.slot = sender->slot;
    ++core_queued_[sender->slot];
  }
  if (scope == DC_SCOPE_NODE) ++node_queued_;
  submit_(std::move(job));
}

void Signals::end_global(const InstanceKey& key) {
  if (Step* step = ledger_.find(key.step)) --step->pending_globals;
  ledger_.try_release(key.step);
}

void Signals::decide(const Decision& decision) {
  if (waiting_.erase(decision.key) == 0) {
    // Not announced here, or abandoned: a cancellation is expected then, but an instance that other servers run is logged.
    if (decision.run)
      log_line(LogLevel::warning,
               format("{} ran on other servers after this one had abandoned it", describe(*model_, decision.key)));
    return;
  }
  if (decision.run) {
    running_.insert(decision.key);
    submit_scope(decision.key, DC_SCOPE_GLOBAL, decision.order);
    return;
  }
  drop(decision.key, "another server abandoned it, or did not receive it from all its clients");
  end_global(decision.key);
}

void Signals::end_actions(const InstanceKey& key, dc_scope scope, std::uint32_t slot) {
  if (scope == DC_SCOPE_CORE) --core_queued_[slot];
  if (scope == DC_SCOPE_NODE) --node_queued_;
  if (scope == DC_SCOPE_GLOBAL && running_.erase(key) != 0) end_global(key);
}

bool Signals::check() {
  const bool submitted = submit_ready_instances();
  return expire() || submitted;
}

bool Signals::expired(Waiting& waiting) const {
  constexpr std::uint64_t kWholeLooks = 2;  // the first one may have begun before
  if (!waiting.deadline.expired()) return false;
  if (!waiting.late_at_look) waiting.late_at_look = looks_;
  return looks_ - *waiting.late_at_look >= kWholeLooks;
}

bool Signals::expire() {
  std::vector<InstanceKey> late;
  for (auto& [key, waiting] : waiting_)
    if (expired(waiting)) late.push_back(key);
  for (const InstanceKey& key : late) {
    drop(key, format("no agreement of the servers within {} ms", model_->architecture.global_timeout_ms));
    submit_(Abandon{key});
    waiting_.erase(key);
    end_global(key);
  }
  return !late.empty();
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
  submit_(CompleteStep{step});
}

// Reported once a step: a client in a loop would fill every mailbox.
void Signals::drop_excess(const InstanceKey& key) {
  if (std::exchange(step_in_excess_, key.step) == key.step) return;
  drop(key,
       format("{} signals wait for other clients already; so are the next ones that no other client has sent", kMostIncomplete));
}

void Signals::drop(const InstanceKey& key, const std::string& why) {
  const std::string sentence = format("{} was discarded: {}", describe(*model_, key), why);
  log_line(LogLevel::warning, sentence);
  roster_.notify_all_clients({key.step, {DC_E_TIMEOUT, sentence}});
}

}  // namespace damaris::server
