#include "server/server.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/shm/busy.hpp"
#include "core/shm/dead_regions.hpp"
#include "core/shm/doorbell.hpp"
#include "core/shm/pool.hpp"
#include "server/watchdog.hpp"

namespace damaris::server {
namespace {

constexpr int kEventsPerVisit = 256;                        // of one lane, so that no client starves the others
constexpr auto kLookEvery = std::chrono::milliseconds(50);  // after the clients' processes
constexpr std::int64_t kShortSleepMs = 2;                   // DESIGN 4b rule 15
constexpr std::int64_t kLongSleepMs = 10;                   // when looks have been in vain: a wake may cost 30 us
constexpr std::int64_t kHoldMs = 10'000;                    // how long clients wait at the end for other servers
constexpr auto kLongCallback = std::chrono::seconds(10);    // worth a line in the log

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
  facts.host_name = region_->host();
  facts.job = shm::job_name();
  facts.regions = shm::run_of_region(region_->name());
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

Server::~Server() { close(); }

void Server::adopt() {
  adopted_ = true;
  take_no_more();
  roster_.adopt();
  const std::int64_t released = region_->header().releasing.load(std::memory_order_acquire);
  adopt_spilled(released);
  std::unordered_set<std::uint64_t> waiting;
  for (Member& member : roster_.members())
    for (Lane& lane : member.lanes)
      lane.reader.for_each_waiting([&](const event::Event& event) {
        if (event.kind == event::Kind::write) waiting.insert(event.block_offset);
      });
  for (Member& member : roster_.members())
    for (Lane& lane : member.lanes)
      if (region_->keeps_arena(lane.index)) adopt_arena(member, lane, released, waiting);
}

// A block that was being spilled may be in the region as well: the first one counts.
void Server::adopt_spilled(std::int64_t released) {
  Spill& file = ledger_.spill_file();
  file.keep();
  file.adopt([&](const shm::BlockHeader& header, const SpilledBlock& place) {
    const Intake intake = check_spilled(header, place, infos_);
    const bool is_new = intake.fault.empty() && header.step != released && !ledger_.holds(intake.dataset);
    if (!is_new) return file.release(place);
    highest_step_ = std::max(highest_step_, header.step);
    (void)ledger_.add(intake.dataset, intake.block);
  });
}

// Blocks whose events wait in a lane come with these; the dead server had taken the others.
void Server::adopt_arena(Member& keeper, Lane& lane, std::int64_t released, const std::unordered_set<std::uint64_t>& waiting) {
  shm::walk_arena(region_->at(lane.span.arena_offset), lane.span.arena_bytes, [&](shm::BlockHeader& block, std::uint64_t offset) {
    const std::uint64_t place = lane.span.arena_offset + offset;
    if (block.state.load(std::memory_order_acquire) != static_cast<std::uint32_t>(shm::BlockState::published)) return;
    if (waiting.count(place) > 0 || block.step < 0) return;
    if (block.step == released) return block.state.store(static_cast<std::uint32_t>(shm::BlockState::released));
    event::Event event = {};
    event.kind = event::Kind::write;
    event.step = block.step;
    event.block_offset = place;
    Member* member = region_->pool() == nullptr ? &keeper : roster_.find(block.source);
    if (member == nullptr) return;  // nobody's: it stays, and is told of as what is left
    member->last_step = std::max(member->last_step, event.step);
    highest_step_ = std::max(highest_step_, event.step);
    take_block(*member, lane, event);
  });
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
  CallResult failure;
  const bool more = host_.idle(failure);
  if (failure.code < DC_OK) note_failure(failure.code, failure.sentence);
  return more;
}

// The ids of a detached server's clients are known only now; none of their steps completes before all have come.
bool Server::admit() {
  if (roster_.all_present() || !roster_.admit()) return false;
  if (ids_are_told_) return true;
  std::vector<std::int32_t> ids;
  for (const Member& member : roster_.members())
    if (member.id >= 0) ids.push_back(member.id);
  std::sort(ids.begin(), ids.end());
  host_.set_clients(ids);
  return true;
}

bool Server::drain() {
  bool worked = false;
  for (Member& member : roster_.members()) {
    if (member.presence != Member::Presence::attached) continue;
    for (Lane& lane : member.lanes) worked |= drain_lane(member, lane);
  }
  if (worked) shm::tell_room(region_->header());
  return worked;
}

bool Server::drain_lane(Member& member, Lane& lane) {
  int taken = 0;
  for (event::Event event; taken < kEventsPerVisit && !lane.broken; ++taken) {
    const std::uint64_t position = lane.reader.position();
    if (!lane.reader.try_take(event)) break;
    if (event.serial != position || !event::known(event.kind))
      reject(member, lane, "an event in it makes no sense");
    else
      dispatch(member, lane, event);
  }
  if (lane.reader.damaged() && !lane.broken) reject(member, lane, "its counter cannot be");
  return taken > 0;
}

void Server::reject(Member& member, Lane& lane, const std::string& why) {
  lane.broken = true;
  const std::string sentence = format("the lane of client {} is damaged ({}): it is not read any more", member.id, why);
  note_failure(DC_E_CLIENT_LOST, sentence);
  roster_.tell_all({std::max<std::int64_t>(member.last_step, 0), DC_E_CLIENT_LOST, sentence});
  roster_.leave(member, Member::Presence::gone);
}

// An event of step j ends all earlier steps of its lane (DESIGN 4b rule 2); a read is of another run's step and ends none.
void Server::dispatch(Member& member, Lane& lane, const event::Event& event) {
  if (event.kind == event::Kind::read || event.kind == event::Kind::last_step) return take_question(member, lane, event);
  if (event.kind != event::Kind::flush && event.kind != event::Kind::finalize) {
    if (event.step > event::kHighestStep) return reject(member, lane, format("there is no step {}", event.step));
    if (event.step < 0 || event.step <= lane.frontier)
      return reject(member, lane, format("{} after step {} had ended", event::to_string(event), lane.frontier));
    roster_.end(member, lane, event.step - 1);
    member.last_step = std::max(member.last_step, event.step);
    highest_step_ = std::max(highest_step_, event.step);
    ledger_.open(event.step);
  }
  switch (event.kind) {
    case event::Kind::write:
      return take_block(member, lane, event);
    case event::Kind::signal:
      if (adopted_) return;  // its time is over
      if (event.name >= model_->events.size()) return reject(member, lane, format("there is no event {}", event.name));
      return signals_.sent(member, event.name, event.step);
    case event::Kind::end_iteration:
      ledger_.open(event.step).count_waits(event.count);
      return roster_.end(member, lane, event.step);
    case event::Kind::skipped:
    case event::Kind::dropped:
      return take_refusal(member, lane, event);
    case event::Kind::set_time:
      return ledger_.open(event.step).set_time(event.time);
    case event::Kind::flush:
    case event::Kind::read:
    case event::Kind::last_step:
      return;
    case event::Kind::finalize:
      roster_.end(member, lane, kAllSteps);
      if (member.frontier == kAllSteps) roster_.leave(member, Member::Presence::finalized);
      return;
  }
}

void Server::take_refusal(Member& member, Lane& lane, const event::Event& event) {
  if (event.name >= model_->variables.size()) return reject(member, lane, format("there is no variable {}", event.name));
  const bool drops = event.kind == event::Kind::dropped;
  ledger_.open(event.step).refuse(event.name, drops);
  log_line(LogLevel::warning, format("step {}: {} writes of '{}' by client {} are {} for want of room", event.step, event.count,
                                     model_->variables[event.name].path, member.id, drops ? "dropped" : "skipped"));
}

void Server::take_question(Member& member, Lane& lane, const event::Event& event) {
  const Asked asked = check_asked(*region_, lane.span, member.id, event, infos_);
  const bool in_hand = asked.block.size_bytes > 0 && ledger_.live(asked.block);
  if (in_hand || !asked.fault.empty())
    return reject(member, lane, format("{}: {}", event::to_string(event), in_hand ? "its block is already in hand" : asked.fault));
  reads_.take(asked);
}

void Server::take_block(Member& member, const Lane& lane, const event::Event& event) {
  const Intake intake = check_block(*region_, lane.span, member.id, event, infos_);
  const bool in_hand = intake.block.size_bytes > 0 && ledger_.live(intake.block);
  if (adopted_ && intake.fault.empty() && !in_hand && ledger_.holds(intake.dataset)) return ledger_.release(intake.block);
  std::string fault = intake.fault;
  if (fault.empty()) fault = in_hand ? "it is already in hand" : ledger_.add(intake.dataset, intake.block);
  if (fault.empty()) return;
  if (!intake.fault.empty() && !in_hand && intake.block.size_bytes > 0) ledger_.release(intake.block);
  const std::string name = intake.dataset.variable == nullptr ? "a dataset" : format("'{}'", intake.dataset.variable->path);
  const dc_code code = intake.fault.empty() ? DC_E_DUPLICATE : DC_E_SHAPE;
  const std::string sentence = format("{} of client {} in step {} was refused: {}", name, member.id, event.step, fault);
  note_failure(code, sentence);
  roster_.tell(member, {event.step, code, sentence});
}

// What plugins on other servers have to say to those here.
bool Server::deliver_posts() {
  int taken = 0;  // bounded: a plugin may answer itself for ever
  for (; taken < kEventsPerVisit; ++taken) {
    const std::optional<Post> post = coordinator_->next_post();
    if (!post) break;
    const CallResult call = host_.deliver(*post);
    if (call.code < DC_OK) note_failure(call.code, call.sentence);
  }
  return taken > 0;
}

// Not at every pass: a look costs a system call a client.
bool Server::watch_clients() {
  if (Clock::now() < next_look_) return false;
  next_look_ = Clock::now() + kLookEvery;
  if (!roster_.all_present() && attach_deadline_.passed()) {
    const std::string sentence = format("only {} of {} clients attached within {} ms; the run goes on without the others",
                                        roster_.present(), roster_.size(), model_->architecture.attach_timeout_ms);
    roster_.give_up_waiting();
    note_failure(DC_E_TIMEOUT, sentence);
    roster_.tell_all({std::max<std::int64_t>(highest_step_, 0), DC_E_TIMEOUT, sentence});
  }
  const std::vector<Member*> dead = roster_.find_dead();
  for (const Member* member : dead) {
    if (adopted_) break;  // that they are dead is why there is something to recover
    const std::string sentence =
        format("client {} died after step {}; it is missing from later iterations", member->id, member->own_frontier);
    note_failure(DC_E_CLIENT_LOST, sentence);
    roster_.tell_all({std::max<std::int64_t>(member->last_step, 0), DC_E_CLIENT_LOST, sentence});
  }
  reclaim();
  return !dead.empty();
}

// In a pool what a dead client had in hand is missing to the others. Who lives may still fill it, though it is not served any more; and
// who holds the lock may have been stopped: then at the next look.
void Server::reclaim() {
  shm::PoolHeader* pool = region_->pool();
  if (pool == nullptr || adopted_) return;
  const shm::LaneSpan& span = region_->span(0);
  for (Member& member : roster_.members()) {
    if (member.presence != Member::Presence::gone || member.reclaimed || member.watch.alive()) continue;
    const shm::Arena arena = shm::Arena::existing(region_->at(span.arena_offset), span.arena_bytes, region_->lane(0));
    const auto is_taken = [&](const shm::BlockHeader& block) {
      const auto offset = static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(&block) - region_->at(0));
      return ledger_.live({0, offset});
    };
    member.reclaimed = shm::reclaim(*pool, arena, member.slot, is_taken);
  }
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

// Also plugins on other servers may wait to hear that nothing comes from here.
void Server::tell_passed(std::int64_t step) {
  if (step <= passed_) return;
  passed_ = step;
  const CallResult call = host_.passed(step);
  if (call.code < DC_OK) note_failure(call.code, call.sentence);
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
  if (ladder_.should_reduce()) {
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
    const std::string sentence = format("step {}: {}", step, result.first_failure.sentence);
    note_failure(result.first_failure.code, sentence);
    roster_.tell_all({step, result.first_failure.code, sentence});
  }
  storage_failed_ |= !result.durable;
  iteration.processed = true;
  completed_ = step;
  release(step, result.durable);
  roster_.deliver();  // before the frontier: a flush that returns finds the error in its mailbox
  publish_frontier();
}

// Who recovers the region of a server that was killed in here must not take some of the step's blocks for all of them.
void Server::release(std::int64_t step, bool durable) {
  if (adopted_ && !durable) return ledger_.leave(step);
  region_->header().releasing.store(step, std::memory_order_release);
  ledger_.try_release(step);
  region_->header().releasing.store(shm::kNoStep, std::memory_order_release);
}

void Server::account_for(Iteration& iteration) {
  for (const Member& member : roster_.members()) {
    if (member.id < 0) continue;  // never came, and has no name
    if (member.own_frontier < iteration.step())
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
  header.last_processed.store(completed_, std::memory_order_release);
  shm::tell_progress(header);
}

// A finalized client may go when the last step it had a part in is processed, and when no global instance can bring bad news.
void Server::let_go() {
  // Before the last one goes: who comes now must not attach to a server that is about to end.
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
  return coordinator_->leave();
}

void Server::take_no_more() {
  region_->header().state.store(static_cast<std::uint32_t>(shm::RegionState::leaving), std::memory_order_release);
}

void Server::stop_clients() {
  stopping_ = true;
  signals_.stop();
  take_no_more();
  admit();  // who has come since the last look may have published something
  while (drain()) {
  }
  for (Member& member : roster_.members())
    if (member.presence == Member::Presence::attached || member.presence == Member::Presence::expected)
      roster_.leave(member, Member::Presence::gone);
  note_failure(DC_E_STOPPED, "told to stop: what was published is stored, open iterations are partial");
}

CallResult Server::run(const std::atomic<bool>* stop) {
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
  close();
  return first_failure_;
}

CallResult Server::close() {
  if (closed_) return first_failure_;
  closed_ = true;
  end_failure_ = host_.finalize();
  if (end_failure_.code != DC_OK) {
    note_failure(end_failure_.code, end_failure_.sentence);
    roster_.tell_all({std::max<std::int64_t>(highest_step_, 0), end_failure_.code, end_failure_.sentence});
  }
  closing_ = true;
  let_go();
  region_->header().state.store(static_cast<std::uint32_t>(shm::RegionState::closed), std::memory_order_release);
  shm::tell_progress(region_->header());
  return first_failure_;
}

void Server::note_failure(int code, const std::string& sentence) {
  log_line(LogLevel::error, sentence);
  if (first_failure_.code != DC_OK) return;
  first_failure_ = {code, sentence};
  region_->header().first_error.store(code, std::memory_order_release);
}

}  // namespace damaris::server
