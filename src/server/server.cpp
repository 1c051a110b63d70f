#include "server/server.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <new>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/shm/doorbell.hpp"
#include "server/watchdog.hpp"

namespace damaris::server {
namespace {

constexpr std::int64_t kShortSleepMs = 2;                 // an ordinary write does not ring the doorbell
constexpr std::int64_t kLongSleepMs = 10;                 // after idle polls: a wake-up may cost 30 us
constexpr std::int64_t kHoldMs = 10'000;                  // how long clients wait for other servers at the end
constexpr std::int64_t kAwaitedLogDelayMs = 10'000;       // after which the wait for other servers is logged
constexpr auto kLongCallback = std::chrono::seconds(10);  // a longer callback is logged

// What `work` has thrown; DC_OK if it returned.
template <class Work>
Status outcome_of(Work&& work) noexcept {
  try {
    work();
    return {};
  } catch (const Error& error) {
    return {error.code(), error.what()};
  } catch (const std::bad_alloc&) {
    return {DC_E_MEMORY, "it is out of memory"};
  } catch (const std::exception& error) {
    return {DC_E_INTERNAL, error.what()};
  } catch (...) {
    return {DC_E_INTERNAL, "an exception of unknown type"};
  }
}

}  // namespace

Server::Server(std::shared_ptr<const model::Model> model, std::shared_ptr<shm::Region> region,
               std::unique_ptr<Coordinator> coordinator, std::vector<std::int32_t> clients)
    : model_(std::move(model)),
      region_(std::move(region)),
      infos_(*model_),
      learns_client_ids_(clients.empty()),
      failures_(region_->header()),
      work_(model_, *region_, infos_, std::move(coordinator), std::move(clients),
            [this](const Status& status) { intake_.report(status); }),
      intake_(model_, region_, infos_, work_, failures_) {
  if (work_.coordinator().index() == 0)
    for (const std::string& sentence : model_->old_words) log_line(LogLevel::warning, sentence);
  region_->set_ready();
}

Server::~Server() {
  if (creator_.is_this_process()) close();
}

// The ids of a detached server's clients are known only now; no step completes before all clients have attached.
bool Server::admit() {
  if (!intake_.admit()) return false;
  if (learns_client_ids_) work_.host().set_clients(intake_.ids());
  return true;
}

bool Server::poll() {
  bool worked = admit();
  worked |= intake_.drain();
  worked |= intake_.watch_clients();
  worked |= intake_.decide_signals();
  worked |= work_.deliver_posts();
  worked |= intake_.serve_next_read();
  worked |= process_next();
  worked |= intake_.spill_one();
  worked |= intake_.deliver_mail();
  release_clients();
  // Once all clients have left, remaining work is done by the plugins' finalize.
  return worked || (!intake_.all_left() && work_.idle());
}

// One step per pass, so that the lanes are drained in between.
bool Server::process_next() {
  bool another_waits = false;
  if (Step* next = intake_.next_complete(another_waits)) return process(*next, another_waits);
  const std::optional<std::int64_t> passed = intake_.advance();
  if (!passed) return false;
  pass(*passed);
  intake_.publish_frontier();
  return true;
}

// Returns false if the plugins only wait for their turn, or for another server.
bool Server::process(Step& step, bool another_waits) {
  if (!step.begun) work_.take(intake_.begin(step));
  const bool urgent = another_waits || intake_.client_waits() || state_ == State::stopping || intake_.all_left();
  const PluginHost::Pass pass = work_.work(seconds_since(*step.complete_since), urgent);
  if (pass == PluginHost::Pass::done) intake_.end(step, work_.host().take_result());
  return pass != PluginHost::Pass::waiting;
}

// Plugins on other servers may also wait for the information that this server has nothing for these steps.
void Server::pass(std::int64_t step) { work_.pass(step, intake_.lost(), intake_.never_attached()); }

void Server::release_clients() {
  // Before the last client is released: a new client must not attach to a server that is about to end.
  if (intake_.all_left()) {
    intake_.stop_accepting();
    if (holds_clients()) return;
  }
  intake_.release_clients(state_ == State::closing);
}

// The last clients wait until the plugins have finalized, so that they get the result and everything is on disk. Bounded, because other
// servers may run for much longer.
bool Server::holds_clients() {
  if (state_ == State::polled || state_ == State::closing) return false;
  if (!hold_deadline_) hold_deadline_ = Deadline::after_ms(std::min(model_->architecture.finalize_timeout_ms / 2, kHoldMs));
  return !hold_deadline_->passed();
}

bool Server::finished() {
  if (!intake_.all_left() || !intake_.is_drained()) return false;
  pass(kAllSteps);  // first, so that the plugins' messages are sent before the coordinator completes
  intake_.end_signals();
  if (work_.coordinator().leave()) return true;
  log_awaited_servers();
  return false;
}

// No time-out would be right, because their clients may compute for hours (ADR 4). But the wait is logged.
void Server::log_awaited_servers() {
  if (!awaited_log_deadline_) awaited_log_deadline_ = Deadline::after_ms(kAwaitedLogDelayMs);
  if (!awaited_log_deadline_->passed()) return;
  awaited_log_deadline_ = Deadline::never();
  const int index = work_.coordinator().index();
  log_line(LogLevel::warning,
           format("all clients of server {} have left and everything is stored; it waits until those of the other servers have, "
                  "{}; if one of them has died, end the job",
                  index, index == 0 ? "too" : "of which server 0 tells"));
}

Status Server::run(const std::atomic<bool>* stop) {
  const Status outcome = outcome_of([&] {
    serve(stop);
    close();
  });
  // A plugin forked and returned twice: the server goes on in the other process, and the region is that one's.
  if (!creator_.is_this_process()) return outcome;
  if (outcome.code != DC_OK) fail(outcome);
  return failures_.first();
}

void Server::serve(const std::atomic<bool>* stop) {
  if (state_ != State::polled) return;
  state_ = State::serving;
  const Watchdog watchdog(region_->header(), kLongCallback);
  std::int64_t sleep_ms = kShortSleepMs;
  while (true) {
    if (state_ == State::serving && stop != nullptr && stop->load()) {
      state_ = State::stopping;
      intake_.stop_accepting();
      admit();  // a client that has just attached may have published blocks
      intake_.stop();
    }
    if (poll()) {
      sleep_ms = kShortSleepMs;
      continue;
    }
    if (finished()) break;
    shm::sleep_as_server(region_->header(), sleep_ms, [this] { return intake_.has_messages(); });
    // Messages of other servers ring no doorbell: keep polling frequently while one is expected.
    sleep_ms = busy() || intake_.all_left() ? kShortSleepMs : std::min(sleep_ms * 2, kLongSleepMs);
  }
  state_ = state_ == State::stopping ? State::stopped : State::over;
}

// As after a kill: the state of the server is unknown, so plugins are no longer called, and the rest is left to recovery.
// First what must not fail; the message is best effort, because memory may be exhausted.
void Server::fail(const Status& cause) noexcept {
  state_ = State::broken;
  preserve_unstored_data();
  work_.host().abandon();
  try {
    const std::string sentence = format("a fault has ended server {}: {}", work_.coordinator().index(), cause.message);
    failures_.record(cause.code, sentence);
    intake_.notify_all_clients({cause.code, sentence});
    intake_.deliver_mail();
  } catch (...) {
    failures_.record_code(cause.code);
  }
  region_->header().state.store(static_cast<std::uint32_t>(shm::RegionState::lost), std::memory_order_release);
  shm::notify_progress(region_->header());
}

// In place the region has no name, so no recovery is possible.
void Server::preserve_unstored_data() noexcept {
  if (region_->name().empty()) return;
  region_->memory().release_name();
  intake_.spill_file().keep();
}

Status Server::close() {
  if (state_ == State::closing || state_ == State::closed || state_ == State::broken) return failures_.first();
  const bool completed = state_ == State::over || state_ == State::stopped;
  const bool was_stopped = state_ == State::stopped;
  state_ = State::closing;
  work_.host().set_lost(intake_.lost(), intake_.never_attached());
  if (!completed && region_->unreleased_blocks() > 0) preserve_unstored_data();
  end_failure_ = work_.host().finalize();
  if (end_failure_.code < DC_OK) failures_.record_logged(end_failure_);
  if (end_failure_.code != DC_OK) intake_.notify_all_clients(end_failure_);
  if (was_stopped) note_stopped();
  release_clients();
  intake_.spill_file().end();
  region_->header().state.store(static_cast<std::uint32_t>(shm::RegionState::closed), std::memory_order_release);
  shm::notify_progress(region_->header());
  state_ = State::closed;
  return failures_.first();
}

// Only after finalize, when the result is known. The storage has already reported its own failure.
void Server::note_stopped() {
  const bool all = intake_.all_stored() && intake_.is_drained() && end_failure_.code >= DC_OK;
  failures_.record(DC_E_STOPPED, all ? "asked to stop: what was published is stored, open steps are partial"
                                     : "asked to stop: not all of what was published could be stored; the lines before say what");
}

}  // namespace damaris::server
