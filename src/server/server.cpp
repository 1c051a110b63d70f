#include "server/server.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/observed.hpp"
#include "core/base/process_guard.hpp"
#include "core/shm/block.hpp"
#include "core/shm/doorbell.hpp"

namespace damaris::server {
namespace {

constexpr std::int64_t kShortSleepMs = 2;     // an ordinary write does not ring the doorbell
constexpr std::int64_t kLongSleepMs = 10;     // after idle polls: a wake-up may cost 30 us
constexpr std::int64_t kHoldMs = 10'000;      // of the wait of a leaving client for other servers and its reports
constexpr std::int64_t kRecoveryMs = 30'000;  // how long a recovery retries what the file system refuses
constexpr std::int64_t kIdleWorkMs = 1'000;   // of a work side that nothing but a job can need

}  // namespace

Server::Server(std::shared_ptr<const model::Model> model, std::shared_ptr<shm::Region> region,
               std::unique_ptr<Coordinator> coordinator, std::vector<std::int32_t> clients)
    : model_(std::move(model)),
      region_(std::move(region)),
      infos_(*model_),
      learns_client_ids_(clients.empty()),
      failures_(region_->header()),
      work_(model_, region_, infos_, std::move(coordinator), std::move(clients), handover_),
      intake_(model_, region_, infos_, handover_, failures_) {
  tell_recorder_client(-1, region_->header().run);
  region_->set_ready();
}

Server::~Server() {
  try {
    close();
  } catch (...) {  // the plugins are finalized with the work side
  }
}

// The ids of a detached server's clients are known only when they attach; no step completes before all have.
bool Server::intake_once() {
  bool worked = intake_.admit();
  if (worked && learns_client_ids_) intake_.submit(SetClients{intake_.ids()});
  worked |= intake_.drain();
  worked |= intake_.handle_answers();
  worked |= intake_.watch_clients();
  worked |= intake_.check_signals();
  worked |= intake_.complete_steps();
  const bool ends = state_ == State::stopping || intake_.all_left();
  worked |= intake_.send_jobs(ends, ends && is_out_of_time());
  worked |= intake_.spill_one();
  worked |= intake_.deliver_mail();
  dismiss_clients();
  return worked;
}

bool Server::poll() {
  if (state_ == State::broken) return false;
  try {
    return serve_once();
  } catch (...) {
    end_by_fault(thrown_status());
    throw;
  }
}

bool Server::serve_once() {
  bool worked = intake_once();
  worked |= work_.work_once();
  if (intake_.handle_answers()) {
    worked = true;
    dismiss_clients();
  }
  return worked;
}

// In place: what an exception has left half done can neither be finished nor be done again.
void Server::end_by_fault(const Status& cause) noexcept {
  fail(cause);
  work_.drop_plugins();
}

void Server::dismiss_clients() {
  if (intake_.all_released())
    views_deadline_.reset();
  else if (!views_deadline_)
    views_deadline_ = Deadline::after_ms(model_->architecture.finalize_timeout_ms / 4 * 3);
  // Before the last client is released: a new client must not attach to a server that is about to end.
  if (intake_.all_left()) {
    intake_.stop_accepting();
    if (holds_clients()) return;
  }
  intake_.dismiss_clients(end_reported_, hold_ms());
}

std::int64_t Server::hold_ms() const { return std::min(model_->architecture.finalize_timeout_ms / 2, kHoldMs); }

// The last clients wait until the plugins have finalized, so that they get the result and everything is on disk. Other servers may run for
// much longer, so the wait for them is shorter than that for the plugins.
bool Server::holds_clients() {
  if (state_ == State::polled || end_reported_) return false;
  if (state_ == State::closing) return !skips_views();
  if (!hold_deadline_) hold_deadline_ = Deadline::after_ms(hold_ms());
  return !hold_deadline_->expired();
}

// Before the clients' own time-outs, which would say that their data are not durable.
bool Server::skips_views() {
  if (!views_deadline_ || !views_deadline_->expired()) return false;
  if (!std::exchange(views_skipped_, true))
    intake_.notify_all_clients(
        {DC_N_VIEWS_FOLLOW,
         format("the data are durable, but the views of the whole run are not written yet: within three quarters "
                "of finalize-timeout=\"{}ms\" server {} did not end; 'damaris verify' says when they are there, "
                "and a longer finalize-timeout waits for them",
                model_->architecture.finalize_timeout_ms, work_.index())});
  return true;
}

// From then on a step that the file system refuses is not tried any more. So clients that finalize get the cause instead of their time-out.
bool Server::is_out_of_time() {
  if (!last_try_deadline_) {
    const std::int64_t half_ms = model_->architecture.finalize_timeout_ms / 2;
    last_try_deadline_ = Deadline::after_ms(intake_.adoption() ? std::min(half_ms, kRecoveryMs) : half_ms);
  }
  return last_try_deadline_->expired();
}

bool Server::finished() {
  if (state_ == State::broken) return true;
  if (!leave_submitted_) {
    if (!intake_.all_left() || !intake_.is_drained()) return false;
    intake_.submit_leave();
    leave_submitted_ = true;
    intake_.send_jobs(true);
  }
  return intake_.all_servers_left();
}

void Server::check_for_stop(const std::atomic<bool>* stop) {
  if (state_ != State::serving || stop == nullptr || !stop->load(std::memory_order_relaxed)) return;
  state_ = State::stopping;
  intake_.stop_accepting();
  intake_once();  // a client that has just attached may have published blocks
  intake_.stop();
}

// Returns true once the server is closed.
bool Server::close_if_done() {
  if (state_ != State::closing) {
    if (!finished()) return false;
    was_stopped_ = state_ == State::stopping;
    state_ = was_stopped_ ? State::stopped : State::over;
    begin_close();
    return false;
  }
  if (!intake_.finalize_result()) return false;
  if (!end_reported_) report_end();
  if (!intake_.all_released()) return false;
  end_close();
  return true;
}

void Server::intake_loop(const std::atomic<bool>* stop) {
  std::int64_t sleep_ms = kShortSleepMs;
  while (true) {
    if (const Status* error = handover_.work_error()) throw Error(static_cast<dc_code>(error->code), error->message);
    check_for_stop(stop);
    if (intake_once()) {
      sleep_ms = kShortSleepMs;
      continue;
    }
    if (close_if_done()) return;
    shm::sleep_as_server(region_->header(), sleep_ms, [this] { return intake_.has_messages() || handover_.has_news(); });
    sleep_ms = std::min(sleep_ms * 2, kLongSleepMs);
  }
}

// What a plugin or another server awaits rings no bell: then the sleeps are short.
void Server::work_loop() {
  while (!handover_.intake_has_ended()) {
    if (work_.work_once()) continue;
    const std::int64_t sleep_ms = work_.waits() ? kShortSleepMs : work_.may_be_called_upon() ? kLongSleepMs : kIdleWorkMs;
    handover_.sleep_as_work(sleep_ms);
  }
}

// The work side has this thread, on which MPI was initialized.
void Server::serve(const std::atomic<bool>* stop) {
  const auto intake = [this, stop] {
    block_signals();  // they are the main thread's
    const Status outcome = outcome_of([&] { intake_loop(stop); });
    if (outcome.code != DC_OK) fail(outcome);
    handover_.end_intake();
  };
  std::thread thread(intake);
  if (Status outcome = outcome_of([&] { work_loop(); }); outcome.code != DC_OK) {
    handover_.fail_work(std::move(outcome));
    shm::ring_server(region_->header());
  }
  thread.join();
}

Status Server::run(const std::atomic<bool>* stop) {
  if (state_ != State::polled) return failures_.first();
  state_ = State::serving;
  std::optional<LogThread> log_thread;
  const Status outcome = outcome_of([&] {
    log_thread.emplace();
    serve(stop);
  });
  if (outcome.code != DC_OK) fail(outcome);
  if (state_ == State::broken) work_.drop_plugins();
  return failures_.first();
}

// As after a kill: the state of the server is unknown, so plugins are no longer called, and the rest is left to recovery.
// First what must not fail; the message is best effort, because memory may be exhausted.
void Server::fail(const Status& cause) noexcept {
  state_ = State::broken;
  preserve_unstored_data();
  try {
    const std::string sentence = format("a fault has ended server {}: {}", work_.index(), cause.message);
    failures_.record(cause.code, sentence);
    intake_.notify_all_clients({cause.code, sentence});
    intake_.deliver_mail();
  } catch (...) {
    failures_.record_code(cause.code);
  }
  shm::set_state(region_->header(), shm::RegionState::lost);
  shm::notify_progress(region_->header());
}

// In place the region has no name, so no recovery is possible.
void Server::preserve_unstored_data() noexcept {
  if (region_->name().empty()) return;
  region_->memory().disown_name();
  intake_.spill_file().keep();
}

void Server::begin_close() {
  const bool completed = state_ == State::over || state_ == State::stopped;
  state_ = State::closing;
  if (intake_.has_unstored_steps() || intake_.has_unstored_appends() || (!completed && region_->unreleased_blocks() > 0))
    preserve_unstored_data();
  intake_.submit_finalize();
  intake_.send_jobs(true);
}

void Server::report_end() {
  end_failure_ = *intake_.finalize_result();
  if (end_failure_.code < DC_OK) failures_.record_logged(end_failure_);
  if (end_failure_.code != DC_OK) intake_.notify_all_clients(end_failure_);
  if (was_stopped_) note_stopped();
  end_reported_ = true;
  dismiss_clients();
}

void Server::end_close() {
  intake_.spill_file().end();
  shm::set_state(region_->header(), shm::RegionState::closed);
  shm::notify_progress(region_->header());
  state_ = State::closed;
}

// For a server that is polled; run() closes it itself.
Status Server::close() {
  if (state_ == State::closing || state_ == State::closed || state_ == State::broken) return failures_.first();
  begin_close();
  while (!intake_.finalize_result()) {
    work_.work_once();
    intake_.handle_answers();
    intake_.send_jobs(true);
  }
  report_end();
  intake_.dismiss_clients(true, 0);
  end_close();
  return failures_.first();
}

// Only after finalize, when the result is known. The storage has already reported its own failure.
void Server::note_stopped() {
  const bool all = intake_.all_stored() && intake_.is_drained() && end_failure_.code >= DC_OK;
  failures_.record(DC_E_STOPPED, all ? "asked to stop: what was published is stored, open steps are partial"
                                     : "asked to stop: not all of what was published could be stored; the lines before say what");
}

}  // namespace damaris::server
