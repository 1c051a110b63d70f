#include "server/intake_side.hpp"

#include <algorithm>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/shm/block.hpp"
#include "core/shm/doorbell.hpp"
#include "core/shm/pool.hpp"
#include "core/shm/server_facts.hpp"

namespace damaris::server {
namespace {

constexpr auto kWatchInterval = std::chrono::milliseconds(50);  // between checks of the clients' processes
constexpr double kLongCallSeconds = 8;                          // of a plugin; a longer one is logged, within 10 s
constexpr int kMessagesPerVisit = 256;                          // per lane, so that no client starves the others
// What one client may have queued for the work side. Beyond it the client's lanes fill, and back-pressure reaches the simulation: the memory
// of a server whose plugin or storage hangs stays bounded.
constexpr std::size_t kMostQueuedSignals = 65'536, kMostQueuedSteps = 4'096;

std::string described(const shm::Message& message) {
  using Kind = shm::MessageKind;
  constexpr const char* kNames[] = {"write", "signal",    "end_iteration", "set_time", "flush",  "finalize",
                                    "read",  "last_step", "skipped",       "dropped",  "append", "log_commit"};
  if (message.kind == Kind::append) return format("append block at {}", message.block_offset);
  if (message.kind == Kind::log_commit) return format("log_commit log {}", message.name);
  const char* name = shm::known(message.kind) ? kNames[static_cast<std::size_t>(message.kind) - 1] : "unknown";
  std::string text = format("{} step {}", name, message.step);
  if (message.kind == Kind::write || message.kind == Kind::read) text += format(" block at {}", message.block_offset);
  if (message.kind == Kind::signal) text += format(" event {}", message.name);
  if (message.kind == Kind::last_step && message.name != shm::kAnyVariable) text += format(" variable {}", message.name);
  if (message.kind == Kind::skipped || message.kind == Kind::dropped)
    text += format(" variable {}, {} writes", message.name, message.count);
  if (message.kind == Kind::set_time) text += format(" time {}", message.time);
  return text;
}

}  // namespace

IntakeSide::IntakeSide(std::shared_ptr<const model::Model> model, std::shared_ptr<shm::Region> region, const VariableInfos& infos,
                       Handover& handover, Failures& failures)
    : model_(std::move(model)),
      region_(std::move(region)),
      infos_(infos),
      handover_(handover),
      failures_(failures),
      ledger_(*region_, model_->architecture.spill_bytes),
      roster_(*region_),
      signals_(model_, ledger_, roster_, [this](Job job) { submit(std::move(job)); }),
      back_pressure_(*region_, *model_, ledger_, roster_),
      logs_(*region_, *model_, infos_, ledger_),
      attach_deadline_(Deadline::after_ms(model_->architecture.attach_timeout_ms)) {}

void IntakeSide::adopt(bool ignore_missing_spill) {
  stop_accepting();
  logs_.adopt();
  const auto take = [this](Member& member, Lane& lane, const shm::Message& message) {
    if (message.kind != shm::MessageKind::append) return receive_block(member, lane, message);
    if (const std::string fault = logs_.receive_append(member, lane, message); !fault.empty())
      failures_.record(DC_E_CLIENT_LOST, format("an append of client {} to a log is left: {}", member.id, fault));
  };
  adoption_.emplace(*region_, *model_, ledger_, roster_, infos_, failures_);
  adoption_->adopt_region(ignore_missing_spill, take);
}

std::vector<std::int32_t> IntakeSide::ids() const {
  std::vector<std::int32_t> ids;
  for (const Member& member : roster_.members())
    if (member.id >= 0) ids.push_back(member.id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

bool IntakeSide::is_over_quota(const Member& member) const {
  return signals_.queued(member) >= kMostQueuedSignals || ledger_.has_unprocessed(member.last_step, kMostQueuedSteps);
}

bool IntakeSide::drain(bool even_resting) {
  bool worked = false;
  for (Member& member : roster_.members()) {
    if (member.presence != Member::Presence::attached || (!even_resting && is_over_quota(member))) continue;
    for (Lane& lane : member.lanes) worked |= drain_lane(member, lane);
  }
  if (worked) shm::notify_lane_room(region_->header());
  return worked;
}

bool IntakeSide::drain_lane(Member& member, Lane& lane) {
  int taken = 0;
  for (shm::Message message; taken < kMessagesPerVisit && !lane.broken; ++taken) {
    const std::uint64_t position = lane.reader.position();
    if (!lane.reader.peek(message)) break;
    if (message.serial != position || !shm::known(message.kind))
      reject(member, lane, "invalid message");
    else
      dispatch(member, lane, message);
    lane.reader.pop();  // only now: if the server is killed while handling a message, recovery finds it
  }
  if (lane.reader.damaged() && !lane.broken) reject(member, lane, "invalid message counter");
  return taken > 0;
}

void IntakeSide::reject(Member& member, Lane& lane, const std::string& why) {
  const std::string sentence = format("the lane of client {} is damaged ({}): it is no longer read", member.id, why);
  failures_.record(DC_E_CLIENT_LOST, sentence);
  roster_.notify_all_clients({std::max<std::int64_t>(member.last_step, 0), {DC_E_CLIENT_LOST, sentence}});
  roster_.leave(member, Member::Presence::gone);
  lane.broken = true;
}

// A message of step j ends all earlier steps of its lane; a read refers to a step of another run, and an append to none:
// they end none.
void IntakeSide::dispatch(Member& member, Lane& lane, const shm::Message& message) {
  if (message.kind == shm::MessageKind::read || message.kind == shm::MessageKind::last_step)
    return receive_read(member, lane, message);
  if (message.kind == shm::MessageKind::append || message.kind == shm::MessageKind::log_commit)
    return receive_log_message(member, lane, message);
  if (adoption_ && adoption_->finished_steps().contains(message.step) && message.kind != shm::MessageKind::finalize)
    return adoption_->discard_late_write(member, lane, message);
  // The server had noted this end, and was killed before it removed the message.
  if (adoption_ && message.kind == shm::MessageKind::end_iteration && message.step == lane.frontier) return;
  if (message.kind != shm::MessageKind::flush && message.kind != shm::MessageKind::finalize) {
    if (message.step > shm::kHighestStep) return reject(member, lane, format("there is no step {}", message.step));
    if (message.step < 0 || message.step <= lane.frontier)
      return reject(member, lane, format("{} after step {} had ended", described(message), lane.frontier));
    roster_.end(member, lane, message.step - 1);
    member.last_step = std::max(member.last_step, message.step);
    ledger_.open(message.step);
  }
  switch (message.kind) {
    case shm::MessageKind::write:
      return receive_block(member, lane, message);
    case shm::MessageKind::signal:
      if (adoption_) return;  // too late to run its actions
      if (message.name >= model_->events.size()) return reject(member, lane, format("there is no event {}", message.name));
      return signals_.receive(member, message.name, message.step);
    case shm::MessageKind::end_iteration:
      ledger_.open(message.step).count_waits(message.count);
      return roster_.end(member, lane, message.step);
    case shm::MessageKind::skipped:
    case shm::MessageKind::dropped:
      return receive_omission(member, lane, message);
    case shm::MessageKind::set_time:
      ledger_.open(message.step).set_time(message.time);
      return record_time(message);
    case shm::MessageKind::flush:
    case shm::MessageKind::read:
    case shm::MessageKind::last_step:
    case shm::MessageKind::append:
    case shm::MessageKind::log_commit:
      return;
    case shm::MessageKind::finalize:
      roster_.end(member, lane, kAllSteps);
      if (member.frontier == kAllSteps) logs_.receive_finalize(member);
      if (member.frontier == kAllSteps) roster_.leave(member, Member::Presence::finalized);
      return;
  }
}

void IntakeSide::record_time(const shm::Message& message) {
  const std::int64_t lost = shm::record_time(region_->header(), message.step, message.time);
  if (lost != shm::kNoStep && !std::exchange(times_lost_, true))
    log_line(LogLevel::warning, format("more than {} steps with physical times are open: a recovery would not know that of step {}",
                                       shm::kTimes, lost));
}

void IntakeSide::receive_omission(Member& member, Lane& lane, const shm::Message& message) {
  if (message.name >= model_->variables.size()) return reject(member, lane, format("there is no variable {}", message.name));
  const bool drops = message.kind == shm::MessageKind::dropped;
  ledger_.open(message.step).omit(message.name, drops);
  shm::omit(region_->header(), message.step, shm::Omission::one_write(message.step));
  region_->header().left_out.fetch_add(message.count, std::memory_order_relaxed);
  log_line(LogLevel::warning, format("step {}: {} writes of '{}' by client {} are {} for lack of room", message.step, message.count,
                                     model_->variables[message.name].path, member.id, drops ? "dropped" : "skipped"));
}

void IntakeSide::receive_read(Member& member, Lane& lane, const shm::Message& message) {
  const ReadRequest asked = check_request(*region_, lane.span, member.id, message, infos_);
  const bool held = asked.block.size_bytes > 0 && ledger_.is_held(asked.block);
  if (held || !asked.fault.empty())
    return reject(member, lane, format("{}: {}", described(message), held ? "the server already holds its block" : asked.fault));
  ledger_.hold(asked.block);
  reads_.emplace_back(ServeRead{asked});
}

void IntakeSide::receive_log_message(Member& member, Lane& lane, const shm::Message& message) {
  const bool appends = message.kind == shm::MessageKind::append;
  const std::string fault = appends ? logs_.receive_append(member, lane, message) : logs_.receive_commit(member, lane, message);
  if (!fault.empty()) reject(member, lane, format("{}: {}", described(message), fault));
}

void IntakeSide::receive_block(Member& member, const Lane& lane, const shm::Message& message) {
  const Intake intake = check_block(*region_, lane.span, member.id, message, infos_);
  const bool held = intake.block.size_bytes > 0 && ledger_.is_held(intake.block);
  std::string fault = intake.fault;
  if (fault.empty()) fault = held ? "the server already holds it" : ledger_.add(intake.dataset, intake.block);
  if (fault.empty()) return;
  const std::string name = intake.dataset.variable == nullptr ? "a dataset" : format("'{}'", intake.dataset.variable->path);
  const dc_code code = intake.fault.empty() ? DC_E_DUPLICATE : DC_E_SHAPE;
  std::string sentence = format("{} of client {} in step {} was refused: {}", name, member.id, message.step, fault);
  roster_.notify(member, {message.step, {code, sentence}});
  failures_.record(code, sentence);
  if (!held && intake.block.size_bytes > 0) ledger_.hold_rejected(message.step, intake.block);
  ledger_.open(message.step).record_loss(std::move(sentence));
}

void IntakeSide::stop_waiting() {
  const std::string sentence = format("only {} of {} clients attached within {} ms; the run goes on without the others",
                                      roster_.present(), roster_.size(), model_->architecture.attach_timeout_ms);
  roster_.stop_waiting();
  failures_.record(DC_E_TIMEOUT, sentence);
  notify_all_clients({DC_E_TIMEOUT, sentence});
}

// Not in every round: a check costs a system call per client.
bool IntakeSide::watch_clients() {
  if (Clock::now() < next_watch_) return false;
  next_watch_ = Clock::now() + kWatchInterval;
  if (!roster_.all_present() && attach_deadline_.expired()) stop_waiting();
  const std::vector<Member*> dead = roster_.mark_dead_clients();
  for (const Member* member : dead) {
    if (adoption_) break;  // expected: a recovery begins after their death
    const std::string sentence =
        format("client {} died after step {}; it is missing from later steps", member->id, member->own_frontier);
    failures_.record(DC_E_CLIENT_LOST, sentence);
    roster_.notify_all_clients({std::max<std::int64_t>(member->last_step, 0), {DC_E_CLIENT_LOST, sentence}});
  }
  reclaim();
  watch_plugins();
  return !dead.empty();
}

// A call cannot be interrupted (rule 4 of docs/rules.md), so it is named while it still runs, once.
void IntakeSide::watch_plugins() {
  const shm::Busy busy = shm::busy_with(region_->header());
  if (busy.since_ns == 0 || busy.seconds < kLongCallSeconds || busy.since_ns == std::exchange(long_call_ns_, busy.since_ns)) return;
  log_line(LogLevel::warning, format("the server has been in {} for {:.1f} s; meanwhile it stores no step and runs no action",
                                     busy.what, busy.seconds));
}

// Returns the blocks of dead clients to a pool, where the others need the room. A client that is alive may still fill its blocks,
// although it is no longer served. If the process that holds the lock is stopped, the next check retries.
void IntakeSide::reclaim() {
  shm::PoolHeader* pool = region_->pool();
  if (pool == nullptr || adoption_) return;
  const shm::LaneSpan& span = region_->span(0);
  for (Member& member : roster_.members()) {
    if (member.presence != Member::Presence::gone || member.reclaimed || roster_.lives(member)) continue;
    const shm::Arena arena = shm::Arena::existing(region_->at(span.arena_offset), span.arena_bytes, region_->lane(0));
    bool asks = false;  // a requested block is answered before it is released
    const auto is_held_block = [&](const shm::BlockHeader& block) {
      const auto offset = static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(&block) - region_->at(0));
      const bool taken = ledger_.is_held({0, offset});
      asks |= taken && block.state.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(shm::BlockState::requested);
      return taken;
    };
    member.reclaimed = shm::reclaim(*pool, region_->memory(), arena, member.slot, is_held_block) && !asks;
  }
}

// One block a round, so that the lanes are drained in between. The work side may be reading the step that is handed out.
bool IntakeSide::spill_one() {
  if (adoption_) return false;
  const bool moved = back_pressure_.spill_one([&](const Step& step) { return step.step() != step_in_work_; });
  if (moved) shm::notify_lane_room(region_->header());
  return moved;
}

bool IntakeSide::complete_steps() {
  bool any = false;
  while (Step* step = ledger_.next_to_complete(roster_.frontier())) {
    any = true;
    record_absent_clients(*step);
    signals_.complete(step->step());
    ledger_.mark_complete(*step);
    shm::publish_complete(region_->header(), step->step());
  }
  return any;
}

std::vector<dc_lost_t> IntakeSide::lost() const {
  std::vector<dc_lost_t> lost;
  for (const Member& member : roster_.members()) {
    const bool uncertain = adoption_ && adoption_->is_damaged();
    const std::int64_t last =
        uncertain ? std::min(member.own_frontier, adoption_->finished_steps().last_processed) : member.own_frontier;
    if (member.id >= 0 && last != kAllSteps && member.presence == Member::Presence::gone) lost.push_back({member.id, last});
  }
  return lost;
}

std::size_t IntakeSide::never_attached() const {
  const auto& members = roster_.members();
  return static_cast<std::size_t>(
      std::count_if(members.begin(), members.end(), [](const Member& member) { return member.id < 0; }));
}

void IntakeSide::stop_accepting() { shm::set_state(region_->header(), shm::RegionState::leaving); }

void IntakeSide::stop() {
  signals_.stop();
  stop_accepting();
  // Drains what the lanes hold now; bounded, because a client may keep sending.
  for (std::uint64_t rounds = region_->lane_messages() / kMessagesPerVisit + 1; rounds > 0 && drain(true); --rounds) {
  }
  for (Member& member : roster_.members())
    if (member.presence == Member::Presence::attached || member.presence == Member::Presence::expected)
      roster_.leave(member, Member::Presence::gone);
  log_line(LogLevel::warning, "asked to stop: storing published data; nothing more is accepted, and open steps are partial");
}

// A finalized client may leave once its last step is processed and no pending global instance can still fail.
void IntakeSide::dismiss_clients(bool all, std::int64_t hold_ms) {
  for (Member& member : roster_.members())
    if (member.presence == Member::Presence::finalized && !(logs_.has_uncommitted(member) && !all) &&
        (all ||
         (!signals_.pending() && (has_unstored_steps_ || completed_ >= std::min(member.last_step, ledger_.highest_step()))))) {
      roster_.deliver();
      roster_.dismiss(member, hold_ms);
    }
}

bool IntakeSide::all_released() const {
  const auto& members = roster_.members();
  return std::none_of(members.begin(), members.end(),
                      [](const Member& member) { return member.presence == Member::Presence::finalized; });
}

bool IntakeSide::has_messages() const {
  const auto has_one = [](const Lane& lane) { return !lane.broken && !lane.reader.empty(); };
  const auto& members = roster_.members();
  return std::any_of(members.begin(), members.end(), [&](const Member& member) {
    return member.presence == Member::Presence::attached && std::any_of(member.lanes.begin(), member.lanes.end(), has_one) &&
           !is_over_quota(member);
  });
}

bool IntakeSide::busy() const {
  const bool handed_out = reads_in_work_ > 0 || action_running_ || step_in_work_ || ending_steps_;
  return handed_out || !logs_.empty() || !reads_.empty() || !backlog_.empty() || !actions_.empty() || signals_.pending() ||
         (!has_unstored_steps_ && ledger_.has_unprocessed());
}

bool IntakeSide::client_waits() const { return region_->header().clients_waiting.load(std::memory_order_relaxed) != 0; }

}  // namespace damaris::server
