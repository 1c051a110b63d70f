#include "server/server.hpp"

#include <algorithm>
#include <exception>
#include <new>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/shm/busy.hpp"
#include "core/shm/dead_regions.hpp"
#include "core/shm/doorbell.hpp"
#include "server/make_region.hpp"
#include "server/watchdog.hpp"

namespace damaris::server {
namespace {

constexpr int kPostsPerVisit = 256;                       // from other servers
constexpr std::int64_t kShortSleepMs = 2;                 // an ordinary write wakes nobody
constexpr std::int64_t kLongSleepMs = 10;                 // when looks have been in vain: a wake may cost 30 us
constexpr std::int64_t kHoldMs = 10'000;                  // how long clients wait at the end for other servers
constexpr std::int64_t kTellAwaitedMs = 10'000;           // after which it says that it waits for them itself
constexpr auto kLongCallback = std::chrono::seconds(10);  // worth a line in the log

}  // namespace

Server::Server(std::shared_ptr<const model::Model> model, std::shared_ptr<shm::Region> region,
               std::unique_ptr<Coordinator> coordinator, std::vector<std::int32_t> clients)
    : model_(std::move(model)),
      region_(std::move(region)),
      coordinator_(std::move(coordinator)),
      infos_(*model_),
      host_(model_),
      ledger_(*region_, model_->architecture.spill_bytes),
      reads_(*region_, ledger_, host_),
      roster_(*region_),
      signals_(model_, ledger_, roster_, host_, *coordinator_,
               [this](int code, const std::string& sentence) { note_failure(code, sentence); }),
      ladder_(*region_, *model_, ledger_, roster_),
      attach_deadline_(Deadline::after_ms(model_->architecture.attach_timeout_ms)) {
  host_.watch([this](const std::string& what) { shm::show_busy(region_->header(), what); });
  RunFacts facts;
  facts.host_name = name_of_host(region_->host());
  facts.job = shm::job_of_region(region_->name());
  facts.regions = shm::run_of_region(region_->name());
  facts.run = format("{:016x}", region_->header().run);
  facts.server_index = coordinator_->index();
  facts.server_count = coordinator_->count();
  ids_are_told_ = !clients.empty();
  facts.clients = std::move(clients);
  facts.variables = &infos_.all();
  facts.communicator = coordinator_->communicator();
  facts.send = [this](int server, std::uint32_t plugin, std::string bytes) {
    return coordinator_->post(server, plugin, std::move(bytes));
  };
  host_.initialize(facts);
  region_->announce();
}

Server::~Server() {
  if (maker_.is_this_process()) close();
}

bool Server::poll() {
  bool worked = admit();
  worked |= drain();
  worked |= watch_clients();
  worked |= signals_.decide();
  worked |= deliver_posts();
  worked |= reads_.serve_next();
  worked |= process_next();
  worked |= relieve();
  worked |= roster_.deliver();
  let_go();
  return worked || idle();
}

// What is left at the end is for finalize.
bool Server::idle() {
  if (roster_.everyone_over()) return false;
  Status failure;
  const bool more = host_.idle(failure);
  hear(failure);
  return more;
}

// What plugins on other servers have to say to those here.
bool Server::deliver_posts() {
  int taken = 0;  // bounded: a plugin may answer itself for ever
  for (; taken < kPostsPerVisit; ++taken) {
    const std::optional<Post> post = coordinator_->next_post();
    if (!post) break;
    const Status call = host_.deliver(*post);
    hear(call);
  }
  return taken > 0;
}

// One iteration a pass, so that the lanes are drained between two of them.
bool Server::process_next() {
  const std::int64_t frontier = roster_.frontier();
  if (const std::size_t waiting = ledger_.note_complete(frontier); waiting > 0)
    return process(*ledger_.next_unprocessed(), waiting > 1);
  const std::int64_t complete = std::min(frontier, highest_step_);
  if (complete <= completed_) return false;
  completed_ = complete;
  tell_passed(complete);
  publish_frontier();
  return true;
}

// Plugins on other servers, too, may wait for the word that nothing comes from here.
void Server::tell_passed(std::int64_t step) {
  if (step <= passed_) return;
  passed_ = step;
  list_lost();
  const Status call = host_.passed(step);
  hear(call);
}

// Of the iterations that this server is not asked for again. After damage to what a dead server left none of them is certain.
void Server::list_lost() {
  std::vector<dc_lost_t> lost;
  std::size_t never_attached = 0;
  for (const Member& member : roster_.members()) {
    const std::int64_t last = lost_sentence_.empty() ? member.own_frontier : std::min(member.own_frontier, settled_);
    if (member.id < 0)
      ++never_attached;
    else if (last != kAllSteps && member.presence == Member::Presence::gone)
      lost.push_back({member.id, last});
  }
  host_.set_lost(std::move(lost), never_attached);
}

// A block a pass, so that the lanes are drained between two of them.
bool Server::relieve() {
  if (adopted_) return false;
  const Iteration* next = ledger_.next_unprocessed();
  const bool worked = ladder_.spill_one(in_work_ && next != nullptr ? std::optional(next->step()) : std::nullopt);
  if (!worked) return false;
  host_.data_moved(in_hand_);
  shm::tell_room(region_->header());
  return true;
}

// Returns whether there was something to do: plugins may wait for their time, or for another server.
bool Server::process(Iteration& iteration, bool another_waits) {
  if (!iteration.begun) begin(iteration);
  const bool client_waits = region_->header().clients_waiting.load(std::memory_order_relaxed) != 0;
  in_hand_.age_s = seconds_since(*iteration.complete_since);
  in_hand_.hurry = another_waits || client_waits || stopping_ || roster_.everyone_over() ? 1 : 0;
  const PluginHost::Pass pass = host_.process(in_hand_);
  in_work_ = pass == PluginHost::Pass::again;
  if (pass == PluginHost::Pass::done) end(iteration);
  return pass != PluginHost::Pass::waiting;
}

void Server::begin(Iteration& iteration) {
  iteration.begun = true;
  region_->header().last_complete.store(iteration.step(), std::memory_order_release);
  signals_.complete(iteration.step());
  account_for(iteration);
  if (adopted_) restore(iteration);
  if (!adopted_ && ladder_.should_reduce()) {
    iteration.reduce_harder(infos_.on_full());
    region_->header().reduced_steps.fetch_add(1, std::memory_order_relaxed);
  }
  in_hand_ = iteration.view(roster_.size());
  in_hand_.complete = 1;
}

void Server::end(Iteration& iteration) {
  const std::int64_t step = iteration.step();
  const PluginHost::IterationResult result = host_.take_result();
  for (const StoredFile& file : result.files)
    log_line(LogLevel::info, format("step {}: {} ({} bytes)", step, file.path, file.bytes));
  if (result.first_failure.code != DC_OK) {
    const std::string sentence = format("step {}: {}", step, result.first_failure.message);
    note_failure(result.first_failure.code, sentence);
    roster_.tell_all({step, {result.first_failure.code, sentence}});
  }
  for (const Status& notice : result.notices) roster_.tell_all({step, {notice.code, format("step {}: {}", step, notice.message)}});
  storage_failed_ |= !result.durable;
  iteration.processed = true;
  completed_ = step;
  roster_.deliver();  // before blocks and frontier: a client that leaves, or whose flush returns, finds the error in its mailbox
  release(step, result.durable);
  publish_frontier();
}

// A recovery of a server that was killed in here must not mistake some of the step's blocks for all of them.
void Server::release(std::int64_t step, bool durable) {
  if (adopted_ && !durable) return ledger_.leave(step);
  region_->header().releasing.store(step, std::memory_order_release);
  ledger_.try_release(step);
  region_->header().releasing.store(shm::kNoStep, std::memory_order_release);
}

void Server::account_for(Iteration& iteration) {
  for (const Member& member : roster_.members()) {
    if (member.id < 0)
      ++iteration.never_attached;
    else if (member.own_frontier < iteration.step())
      iteration.missing.push_back(member.id);
    else if (!iteration.has_source(member.id))
      iteration.absent.push_back(member.id);
  }
  std::sort(iteration.missing.begin(), iteration.missing.end());  // slots are in the order in which detached clients came
  std::sort(iteration.absent.begin(), iteration.absent.end());
}

void Server::publish_frontier() {
  shm::RegionHeader& header = region_->header();
  header.last_complete.store(completed_, std::memory_order_release);
  if (!storage_failed_) header.last_durable.store(completed_, std::memory_order_release);
  // Of a dead server's region what could not be stored stays, for another recovery.
  if (!adopted_ || !storage_failed_) header.last_processed.store(completed_, std::memory_order_release);
  shm::tell_progress(header);
}

// A finalized client may go when the last step it had a part in is processed, and when no global instance can bring bad news.
void Server::let_go() {
  // Before the last one goes: a client that comes now must not attach to a server that is about to end.
  if (roster_.everyone_over()) {
    take_no_more();
    if (is_held()) return;
  }
  for (Member& member : roster_.members())
    if (member.presence == Member::Presence::finalized &&
        (closing_ || (!signals_.pending() && completed_ >= std::min(member.last_step, highest_step_)))) {
      roster_.deliver();
      roster_.mark_drained(member);
    }
}

// The last clients hear how the plugins ended, and go on when everything is on disk. Not for ever: other servers may have long to go.
bool Server::is_held() {
  if (!runs_ || closing_) return false;
  if (!held_until_) held_until_ = Deadline::after_ms(std::min(model_->architecture.finalize_timeout_ms / 2, kHoldMs));
  return !held_until_->passed();
}

bool Server::busy() {
  if (!reads_.empty() || signals_.pending() || !coordinator_->agreed(completed_)) return true;
  const Iteration* next = ledger_.next_unprocessed();
  return next != nullptr && next->step() <= roster_.frontier();
}

bool Server::finished() {
  if (!roster_.everyone_over() || !ledger_.empty() || !reads_.empty() || signals_.pending()) return false;
  tell_passed(kAllSteps);  // before the coordinator hears it: then the message is on its way
  signals_.complete(kAllSteps);
  if (coordinator_->leave()) return true;
  tell_who_is_awaited();
  return false;
}

// No bound would be right: their clients may compute for hours (ADR 4). But nobody waits in silence.
void Server::tell_who_is_awaited() {
  if (!tells_awaited_at_) tells_awaited_at_ = Deadline::after_ms(kTellAwaitedMs);
  if (told_awaited_ || !tells_awaited_at_->passed()) return;
  told_awaited_ = true;
  log_line(LogLevel::warning,
           format("all clients of server {} have left and everything is stored; it waits until those of the other servers have, "
                  "{}; if one of them has died, end the job",
                  coordinator_->index(), coordinator_->index() == 0 ? "too" : "of which server 0 tells"));
}

void Server::take_no_more() {
  region_->header().state.store(static_cast<std::uint32_t>(shm::RegionState::leaving), std::memory_order_release);
}

void Server::stop_clients() {
  stopping_ = true;
  signals_.stop();
  take_no_more();
  admit();  // a client that has come since the last look may have published something
  // What the lanes hold now; a client that goes on is not listened to for ever.
  for (std::uint64_t passes = region_->lane_events() / kEventsPerVisit + 1; passes > 0 && drain(); --passes) {
  }
  for (Member& member : roster_.members())
    if (member.presence == Member::Presence::attached || member.presence == Member::Presence::expected)
      roster_.leave(member, Member::Presence::gone);
  log_line(LogLevel::warning, "told to stop: storing what was published; nothing more is taken, and open iterations are partial");
}

Status Server::run(const std::atomic<bool>* stop) {
  try {
    serve(stop);
    close();
  } catch (const Error& error) {
    lose(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    lose(DC_E_MEMORY, "it is out of memory");
  } catch (const std::exception& error) {
    lose(DC_E_INTERNAL, error.what());
  } catch (...) {
    lose(DC_E_INTERNAL, "an exception of unknown type");
  }
  return first_failure_;
}

void Server::serve(const std::atomic<bool>* stop) {
  runs_ = true;
  const auto has_work = [this] {
    for (const Member& member : roster_.members())
      for (const Lane& lane : member.lanes)
        if (member.presence == Member::Presence::attached && !lane.broken && !lane.reader.empty()) return true;
    return false;
  };
  const Watchdog watchdog(region_->header(), kLongCallback);
  std::int64_t sleep_ms = kShortSleepMs;
  while (!closed_) {
    if (stop != nullptr && stop->load() && !stopping_) stop_clients();
    if (poll()) {
      sleep_ms = kShortSleepMs;
      continue;
    }
    if (finished()) break;
    shm::sleep_as_server(region_->header(), sleep_ms, has_work);
    // What another server has to say rings no doorbell: while that is awaited, the looks stay frequent.
    sleep_ms = busy() || roster_.everyone_over() ? kShortSleepMs : std::min(sleep_ms * 2, kLongSleepMs);
  }
  came_to_its_end_ = true;
}

// As after a kill: the state of the server is unknown, so plugins are not called any more, and the recovery sorts it out.
// What must not fail comes first; the words are best effort, as memory may be what is missing.
void Server::lose(int code, const std::string& cause) noexcept {
  closed_ = true;
  keep_what_is_left();
  host_.abandon();
  try {
    const std::string sentence = format("a fault has ended server {}: {}", coordinator_->index(), cause);
    note_failure(code, sentence);
    roster_.tell_all({std::max<std::int64_t>(highest_step_, 0), {code, sentence}});
    roster_.deliver();
  } catch (...) {
    if (first_failure_.code == DC_OK) first_failure_.code = code;
  }
  region_->header().state.store(static_cast<std::uint32_t>(shm::RegionState::lost), std::memory_order_release);
  shm::tell_progress(region_->header());
}

// In place the region has no name, and nobody could recover from it.
void Server::keep_what_is_left() noexcept {
  if (region_->name().empty()) return;
  region_->memory().release_name();
  ledger_.spill_file().keep();
}

Status Server::close() {
  if (closed_) return first_failure_;
  closed_ = true;
  list_lost();
  if (!came_to_its_end_ && region_->unreleased_blocks() > 0) keep_what_is_left();
  end_failure_ = host_.finalize();
  if (end_failure_.code < DC_OK) note_failure(end_failure_.code, end_failure_.message);
  if (end_failure_.code != DC_OK) roster_.tell_all({std::max<std::int64_t>(highest_step_, 0), end_failure_});
  if (stopping_) note_stopped();
  closing_ = true;
  let_go();
  ledger_.spill_file().end();
  region_->header().state.store(static_cast<std::uint32_t>(shm::RegionState::closed), std::memory_order_release);
  shm::tell_progress(region_->header());
  return first_failure_;
}

// Not before it is true. How a storage that failed has put it stands before.
void Server::note_stopped() {
  const bool all = !storage_failed_ && ledger_.empty() && end_failure_.code >= DC_OK;
  note_failure(DC_E_STOPPED, all ? "told to stop: what was published is stored, open iterations are partial"
                                 : "told to stop: not all of what was published could be stored; the lines before say what");
}

// What a plugin says outside any iteration. The clients hear of one that was switched off; of a failure when it costs an iteration.
void Server::hear(const Status& call) {
  if (call.code < DC_OK) note_failure(call.code, call.message);
  if (call.is_notice()) roster_.tell_all({std::max<std::int64_t>(highest_step_, 0), call});
}

void Server::note_failure(int code, const std::string& sentence) {
  log_line(LogLevel::error, sentence);
  if (first_failure_.code != DC_OK) return;
  first_failure_ = {code, sentence};
  region_->header().first_error.store(code, std::memory_order_release);
}

}  // namespace damaris::server
