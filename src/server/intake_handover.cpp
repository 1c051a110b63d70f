// What the intake side hands to the work side, and what it does with the answers. The rest of it is in intake_side.cpp.
#include <algorithm>

#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/shm/doorbell.hpp"
#include "server/intake_side.hpp"

namespace damaris::server {

// No call of a plugin delays a read more than one.
bool IntakeSide::send_reads() {
  bool any = false;
  for (; !reads_.empty() && handover_.jobs.try_push(reads_.front()); any = true) {
    reads_.pop_front();
    ++reads_in_work_;
  }
  return any;
}

void IntakeSide::submit(Job job) {
  if (auto* const actions = std::get_if<RunActions>(&job)) {
    ++actions_of_[actions->key.step];
    actions_.push_back(std::move(*actions));
  } else {
    backlog_.push_back(std::move(job));
  }
}

// A part at a time, beside steps and actions. What the file system refuses up to the end is left to recovery.
bool IntakeSide::send_logs(bool ending) {
  if (ending && logs_are_blocked() && !logs_.empty()) {
    const std::string why = logs_.block_reason();
    if (const std::size_t appends = logs_.leave(); appends > 0) {
      const std::string sentence = format("{} appends to logs are {}: {}", appends, recovery_hint("that cause"), why);
      failures_.record(DC_E_IO, sentence);
      notify_all_clients({DC_E_IO, sentence});
    }
    return true;
  }
  if (handover_.jobs.full()) return false;
  std::optional<StoreLogs> next = logs_.next();
  if (!next) return false;
  Job job = std::move(*next);
  return handover_.jobs.try_push(job);
}

bool IntakeSide::send_backlog() {
  bool any = false;
  for (; !backlog_.empty() && handover_.jobs.try_push(backlog_.front()); any = true) backlog_.pop_front();
  return any;
}

// One at a time: only what the work side may read at this moment cannot be spilled.
bool IntakeSide::send_action() {
  if (action_running_ || actions_.empty() || handover_.jobs.full()) return false;
  RunActions& next = actions_.front();
  next.step = ledger_.open(next.key.step).show(roster_.size(), next.seen);
  RunActions actions = std::move(next);
  actions_.pop_front();
  const auto of_step = actions_of_.find(actions.key.step);
  if (--of_step->second == 0) actions_of_.erase(of_step);
  action_running_ = true;
  Job job = std::move(actions);
  return handover_.jobs.try_push(job);
}

// A step's actions run before the step is stored.
bool IntakeSide::send_step(bool urgent) {
  if (handover_.jobs.full() || ending_steps_ || has_unstored_steps_) return false;
  bool another = false;
  Step* const next = ledger_.next_unprocessed(another);
  handover_.urgent.store(urgent || another || client_waits(), std::memory_order_relaxed);
  if (step_in_work_) return false;
  const std::int64_t first_with_actions = actions_of_.empty() ? kAllSteps : actions_of_.begin()->first;
  if (next != nullptr) {
    if (first_with_actions <= next->step()) return false;
    if (adoption_) adoption_->restore(*next);
    if (!adoption_ && back_pressure_.should_reduce()) {
      next->reduce_harder(infos_.on_full());
      region_->header().reduced_steps.fetch_add(1, std::memory_order_relaxed);
    }
    ProcessStep work{next->view(roster_.size()), *next->complete_since};
    work.view.complete = 1;
    Job job = work;
    step_in_work_ = next->step();
    return handover_.jobs.try_push(job);
  }
  // Complete steps that nothing was written in.
  const std::int64_t complete = std::min({roster_.frontier(), ledger_.highest_step(), first_with_actions - 1});
  if (complete <= completed_) return false;
  Job job = EndSteps{complete, lost(), never_attached()};
  ending_steps_ = complete;
  return handover_.jobs.try_push(job);
}

bool IntakeSide::send_jobs(bool urgent, bool ending) {
  handover_.ending.store(ending, std::memory_order_relaxed);
  bool any = send_reads();
  any |= send_logs(ending);
  any |= send_backlog();
  any |= send_action();
  any |= send_step(urgent);
  if (any) handover_.wake_work();
  return any;
}

void IntakeSide::submit_leave() {
  // First, so that the plugins' messages are sent before the coordinator completes.
  submit(EndSteps{kAllSteps, lost(), never_attached()});
  signals_.complete(kAllSteps);
  submit(Leave{});
}

bool IntakeSide::handle_answers() {
  bool any = false;
  signals_.note_looks(handover_.looks());  // first: see Handover::looks
  while (std::optional<Answer> answer = handover_.answers.try_pop()) {
    std::visit([this](auto& one) { handle(one); }, *answer);
    any = true;
  }
  return any;
}

void IntakeSide::handle(ActionsRun& answer) {
  for (const Status& report : answer.reports) {
    if (report.code < DC_OK) failures_.record_logged(report);
    roster_.notify_all_clients({answer.key.step, report});
  }
  if (Step* step = ledger_.find(answer.key.step)) step->release_snapshot();
  signals_.end_actions(answer.key, answer.scope, answer.slot);
  action_running_ = false;
}

void IntakeSide::handle(StepsEnded& answer) {
  ending_steps_.reset();
  if (answer.step == kAllSteps) return;
  completed_ = answer.step;
  publish_frontier(true);
}

// The last report of this server about its steps. None of them is marked as processed, so recovery takes them all.
void IntakeSide::handle(StepLeft& answer) {
  const std::string sentence = format("{}: {}", unstored_text(answer.step), answer.why);
  failures_.record(DC_E_IO, sentence);
  notify_all_clients({DC_E_IO, sentence});
  step_in_work_.reset();
  has_unstored_steps_ = true;
  all_durable_ = false;
  roster_.deliver();
}

std::string IntakeSide::unstored_text(std::int64_t step) {
  const std::string steps = step < highest_step() ? format("steps {} to {} are", step, highest_step()) : format("step {} is", step);
  return format("{} {}", steps, recovery_hint("its cause"));
}

std::string IntakeSide::recovery_hint(const char* cause) {
  if (region_->name().empty() || !region_->memory().has_name()) return "not stored, and lost";
  return format("not stored yet, but left in memory{}: 'damaris recover {}' stores what is there when {} has gone",
                ledger_.spill_file().holds_something() ? format(" and {}", ledger_.spill_file().path()) : "", region_->name(),
                cause);
}

void IntakeSide::handle(PluginReport& answer) {
  if (answer.status.code < DC_OK) failures_.record_logged(answer.status);
  if (answer.status.is_notice()) notify_all_clients(answer.status);
}

void IntakeSide::handle(Decision& answer) { signals_.decide(answer); }

void IntakeSide::handle(ReadServed& answer) {
  --reads_in_work_;
  ledger_.answer(answer.block);
  shm::notify_progress(region_->header());
}

void IntakeSide::handle(LogsStored& answer) {
  logs_.handle(answer);
  if (answer.rejected > 0 && !std::exchange(has_rejected_appends_, true)) {  // each commit says it again
    const std::string sentence = "appends to logs are refused: their places cannot be true, so a client has damaged the region";
    failures_.record(DC_E_IO, sentence);
    notify_all_clients({DC_E_IO, sentence});
  }
  if (answer.left.code != DC_OK)
    failures_.record(answer.left.code, format("appends to logs are {}: {}", recovery_hint("that cause"), answer.left.message));
}

void IntakeSide::handle(AllLeft&) { all_servers_left_ = true; }

void IntakeSide::handle(PluginsFinalized& answer) { finalize_result_ = std::move(answer.status); }

void IntakeSide::record_absent_clients(Step& step) const {
  for (const Member& member : roster_.members()) {
    if (member.id < 0)
      ++step.never_attached;
    else if (member.own_frontier < step.step())
      step.missing.push_back(member.id);
    else if (!step.has_source(member.id))
      step.absent.push_back(member.id);
  }
  std::sort(step.missing.begin(), step.missing.end());  // detached clients take slots in the order of their arrival
  std::sort(step.absent.begin(), step.absent.end());
}

void IntakeSide::handle(StepProcessed& answer) {
  const PluginHost::StepResult& result = answer.result;
  for (const StoredFile& file : result.files)
    log_line(LogLevel::info, format("step {}: {} ({} bytes)", answer.step, file.path, file.bytes));
  if (result.first_failure.code != DC_OK) {
    failures_.record_logged(result.first_failure);
    roster_.notify_all_clients({answer.step, result.first_failure});
  }
  for (const Status& notice : result.notices) roster_.notify_all_clients({answer.step, notice});
  step_in_work_.reset();
  add_to_totals(result);
  all_durable_ &= result.durable;
  if (!result.durable && !adoption_) shm::give_up(region_->header(), answer.step, given_up_);
  ledger_.mark_processed(*ledger_.find(answer.step));
  completed_ = answer.step;
  release(answer.step, result.durable);
}

void IntakeSide::add_to_totals(const PluginHost::StepResult& result) {
  shm::RegionHeader& header = region_->header();
  const auto add = [](std::atomic<std::uint64_t>& total, std::uint64_t more) { total.fetch_add(more, std::memory_order_relaxed); };
  add(result.durable ? header.stored_steps : header.failed_steps, 1);
  for (const StoredFile& file : result.files) {
    add(header.raw_bytes, file.raw_bytes);
    add(header.stored_bytes, file.bytes);
  }
  add(header.busy_ns, result.busy_ns);
}

// Killed in here, the server leaves blocks of a step that recovery knows to be stored.
void IntakeSide::release(std::int64_t step, bool durable) {
  if (adoption_ && !durable) {
    ledger_.drop(step);
    return publish_frontier(false);
  }
  shm::begin_release(region_->header(), step);
  ledger_.try_release(step);
  publish_frontier(durable);
  shm::end_release(region_->header());
}

void IntakeSide::publish_frontier(bool durable) {
  roster_.deliver();  // first: a client whose flush returns has all reports of its steps
  shm::RegionHeader& header = region_->header();
  shm::publish_complete(header, completed_);
  if (durable) shm::publish_durable(header, completed_);
  // In a recovery, blocks that could not be stored stay for another attempt.
  if (!adoption_ || all_durable_) shm::publish_processed(header, completed_);
  shm::notify_progress(header);
}

}  // namespace damaris::server
