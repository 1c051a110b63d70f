// What comes from the clients: themselves, their events, their deaths. The rest of the server is in server.cpp.
#include <algorithm>

#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/shm/doorbell.hpp"
#include "core/shm/open_steps.hpp"
#include "core/shm/pool.hpp"
#include "server/server.hpp"

namespace damaris::server {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(50);  // after the clients' processes

}  // namespace

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
  for (shm::Message event; taken < kEventsPerVisit && !lane.broken; ++taken) {
    const std::uint64_t position = lane.reader.position();
    if (!lane.reader.peek(event)) break;
    if (event.serial != position || !shm::known(event.kind))
      reject(member, lane, "an event in it makes no sense");
    else
      dispatch(member, lane, event);
    lane.reader.pop();  // only now: what a server had in hand when it was killed is there for a recovery
  }
  if (lane.reader.damaged() && !lane.broken) reject(member, lane, "its counter cannot be");
  return taken > 0;
}

void Server::reject(Member& member, Lane& lane, const std::string& why) {
  lane.broken = true;
  const std::string sentence = format("the lane of client {} is damaged ({}): it is not read any more", member.id, why);
  note_failure(DC_E_CLIENT_LOST, sentence);
  roster_.tell_all({std::max<std::int64_t>(member.last_step, 0), {DC_E_CLIENT_LOST, sentence}});
  roster_.leave(member, Member::Presence::gone);
}

// An event of step j ends all earlier steps of its lane; a read is of another run's step and ends none.
void Server::dispatch(Member& member, Lane& lane, const shm::Message& event) {
  if (event.kind == shm::MessageKind::read || event.kind == shm::MessageKind::last_step) return take_question(member, lane, event);
  if (adopted_ && event.step <= settled_ && event.kind != shm::MessageKind::finalize) return leave_out(member, lane, event);
  if (event.kind != shm::MessageKind::flush && event.kind != shm::MessageKind::finalize) {
    if (event.step > shm::kHighestStep) return reject(member, lane, format("there is no step {}", event.step));
    if (event.step < 0 || event.step <= lane.frontier)
      return reject(member, lane, format("{} after step {} had ended", shm::to_string(event), lane.frontier));
    roster_.end(member, lane, event.step - 1);
    member.last_step = std::max(member.last_step, event.step);
    highest_step_ = std::max(highest_step_, event.step);
    ledger_.open(event.step);
  }
  switch (event.kind) {
    case shm::MessageKind::write:
      return take_block(member, lane, event);
    case shm::MessageKind::signal:
      if (adopted_) return;  // its time is over
      if (event.name >= model_->events.size()) return reject(member, lane, format("there is no event {}", event.name));
      return signals_.sent(member, event.name, event.step);
    case shm::MessageKind::end_iteration:
      ledger_.open(event.step).count_waits(event.count);
      return roster_.end(member, lane, event.step);
    case shm::MessageKind::skipped:
    case shm::MessageKind::dropped:
      return take_refusal(member, lane, event);
    case shm::MessageKind::set_time:
      return take_time(event);
    case shm::MessageKind::flush:
    case shm::MessageKind::read:
    case shm::MessageKind::last_step:
      return;
    case shm::MessageKind::finalize:
      roster_.end(member, lane, kAllSteps);
      if (member.frontier == kAllSteps) roster_.leave(member, Member::Presence::finalized);
      return;
  }
}

void Server::take_time(const shm::Message& event) {
  ledger_.open(event.step).set_time(event.time);
  shm::note_time(region_->header(), event.step, event.time);
}

// Of a step that the dead server had stored: what was left of it came too late for that, from a client that was dead or damaged then. It
// must not be taken for the whole step.
void Server::leave_out(Member& member, const Lane& lane, const shm::Message& event) {
  if (event.kind != shm::MessageKind::write) return;
  const Intake intake = check_block(*region_, lane.span, member.id, event, infos_);
  if (!intake.fault.empty()) return;
  ++given_up_;
  log_line(LogLevel::warning, format("'{}' of client {} came after step {} was stored, and is given up",
                                     intake.dataset.variable->path, member.id, event.step));
  ledger_.release(intake.block);
}

void Server::take_refusal(Member& member, Lane& lane, const shm::Message& event) {
  if (event.name >= model_->variables.size()) return reject(member, lane, format("there is no variable {}", event.name));
  const bool drops = event.kind == shm::MessageKind::dropped;
  ledger_.open(event.step).refuse(event.name, drops);
  shm::note_left_out(region_->header(), event.step);
  log_line(LogLevel::warning, format("step {}: {} writes of '{}' by client {} are {} for want of room", event.step, event.count,
                                     model_->variables[event.name].path, member.id, drops ? "dropped" : "skipped"));
}

void Server::take_question(Member& member, Lane& lane, const shm::Message& event) {
  const Asked asked = check_asked(*region_, lane.span, member.id, event, infos_);
  const bool in_hand = asked.block.size_bytes > 0 && ledger_.live(asked.block);
  if (in_hand || !asked.fault.empty())
    return reject(member, lane, format("{}: {}", shm::to_string(event), in_hand ? "its block is already in hand" : asked.fault));
  reads_.take(asked);
}

void Server::take_block(Member& member, const Lane& lane, const shm::Message& event) {
  const Intake intake = check_block(*region_, lane.span, member.id, event, infos_);
  const bool in_hand = intake.block.size_bytes > 0 && ledger_.live(intake.block);
  if (adopted_ && intake.fault.empty() && !in_hand && ledger_.holds_spilled(intake.dataset)) return ledger_.release(intake.block);
  std::string fault = intake.fault;
  if (fault.empty()) fault = in_hand ? "it is already in hand" : ledger_.add(intake.dataset, intake.block);
  if (fault.empty()) return;
  if (!in_hand && intake.block.size_bytes > 0) ledger_.keep_refused(event.step, intake.block);
  const std::string name = intake.dataset.variable == nullptr ? "a dataset" : format("'{}'", intake.dataset.variable->path);
  const dc_code code = intake.fault.empty() ? DC_E_DUPLICATE : DC_E_SHAPE;
  const std::string sentence = format("{} of client {} in step {} was refused: {}", name, member.id, event.step, fault);
  ledger_.open(event.step).note_lost(sentence);
  note_failure(code, sentence);
  roster_.tell(member, {event.step, {code, sentence}});
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
    roster_.tell_all({std::max<std::int64_t>(highest_step_, 0), {DC_E_TIMEOUT, sentence}});
  }
  const std::vector<Member*> dead = roster_.find_dead();
  for (const Member* member : dead) {
    if (adopted_) break;  // that they are dead is why there is something to recover
    const std::string sentence =
        format("client {} died after step {}; it is missing from later iterations", member->id, member->own_frontier);
    note_failure(DC_E_CLIENT_LOST, sentence);
    roster_.tell_all({std::max<std::int64_t>(member->last_step, 0), {DC_E_CLIENT_LOST, sentence}});
  }
  reclaim();
  return !dead.empty();
}

// In a pool the others miss what a dead client had in hand. A client that lives may still fill its blocks, though it is not served any more;
// and the process that holds the lock may have been stopped: then at the next look.
void Server::reclaim() {
  shm::PoolHeader* pool = region_->pool();
  if (pool == nullptr || adopted_) return;
  const shm::LaneSpan& span = region_->span(0);
  for (Member& member : roster_.members()) {
    if (member.presence != Member::Presence::gone || member.reclaimed || member.watch.alive()) continue;
    const shm::Arena arena = shm::Arena::existing(region_->at(span.arena_offset), span.arena_bytes, region_->lane(0));
    bool asks = false;  // it is answered before it is given back
    const auto is_taken = [&](const shm::BlockHeader& block) {
      const auto offset = static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(&block) - region_->at(0));
      const bool taken = ledger_.live({0, offset});
      asks |= taken && block.state.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(shm::BlockState::asked);
      return taken;
    };
    member.reclaimed = shm::reclaim(*pool, arena, member.slot, is_taken) && !asks;
  }
}

}  // namespace damaris::server
