#include "server/roster.hpp"

#include <algorithm>

#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/shm/block.hpp"
#include "core/shm/doorbell.hpp"
#include "core/shm/mailbox.hpp"
#include "core/shm/server_facts.hpp"

namespace damaris::server {

Roster::Roster(shm::Region& region) : region_(region), members_(region.client_count()) {
  for (std::uint32_t slot = 0; slot < members_.size(); ++slot) {
    Member& member = members_[slot];
    member.slot = slot;
    for (std::uint32_t thread = 0; thread < region.threads(); ++thread) {
      Lane lane;
      lane.index = slot * region.threads() + thread;
      lane.span = region.span(lane.index);
      lane.reader = shm::LaneReader(reinterpret_cast<shm::LaneHeader*>(region.at(lane.span.lane_offset)), region.lane_messages());
      member.lanes.push_back(lane);
    }
  }
}

bool Roster::admit() {
  bool came = false;
  for (Member& member : members_) {
    const shm::ClientSlot& slot = region_.slot(member.slot);
    const shm::SlotState state = shm::state_of(slot);
    if (member.presence != Member::Presence::expected || state == shm::SlotState::free || state == shm::SlotState::claimed)
      continue;
    came = true;
    ++present_;
    if (const std::int32_t id = slot.id.load(std::memory_order_relaxed); is_free(id)) {
      member.id = id;
    } else {
      log_line(LogLevel::error,
               format("the client of slot {} is not served: its id {} is invalid or already in use", member.slot, id));
      leave(member, Member::Presence::gone);
      continue;
    }
    member.presence = Member::Presence::attached;
    member.watched = true;
    for (const Lane& lane : member.lanes)
      if (region_.pool() == nullptr) region_.memory().populate(lane.span.arena_offset, lane.span.arena_bytes);
    log_line(LogLevel::info, format("client {} attached (process {})", member.id, slot.pid));
  }
  return came;
}

void Roster::adopt() {
  for (Member& member : members_) {
    const shm::ClientSlot& slot = region_.slot(member.slot);
    const auto state = shm::state_of(slot);
    if (state == shm::SlotState::free || state == shm::SlotState::claimed) continue;
    member.presence = Member::Presence::attached;
    member.id = slot.id.load(std::memory_order_relaxed);
    member.frontier = member.own_frontier = slot.ended_step.load(std::memory_order_relaxed);
    for (Lane& lane : member.lanes) lane.frontier = member.frontier;
    ++present_;
  }
  stop_waiting();
}

Member* Roster::find(std::int32_t id) {
  const auto found = std::find_if(members_.begin(), members_.end(), [&](const Member& member) { return member.id == id; });
  return id < 0 || found == members_.end() ? nullptr : &*found;
}

// Clients ensure unique ids when they claim slots, but the slot is not trusted, and the id must distinguish their datasets.
bool Roster::is_free(std::int32_t id) { return id >= 0 && find(id) == nullptr; }

std::vector<Member*> Roster::mark_dead_clients() {
  std::vector<Member*> dead;
  for (Member& member : members_) {
    const bool session_over = shm::state_of(region_.slot(member.slot)) == shm::SlotState::dead;
    if (member.presence != Member::Presence::attached || (!session_over && lives(member))) continue;
    // Blocks published before the death still count: the lanes are drained first.
    const bool drained =
        std::all_of(member.lanes.begin(), member.lanes.end(), [](const Lane& lane) { return lane.broken || lane.reader.empty(); });
    if (drained) dead.push_back(&member);
  }
  for (Member* member : dead) leave(*member, Member::Presence::gone);
  return dead;
}

void Roster::stop_waiting() {
  for (Member& member : members_)
    if (member.presence == Member::Presence::expected) {
      leave(member, Member::Presence::gone);
      ++present_;
    }
}

bool Roster::all_left() const {
  return std::all_of(members_.begin(), members_.end(), [](const Member& m) { return m.has_left(); });
}

std::int64_t Roster::frontier() const {
  std::int64_t lowest = kAllSteps;
  for (const Member& member : members_) lowest = std::min(lowest, member.frontier);
  return lowest;
}

void Roster::end(Member& member, Lane& lane, std::int64_t step) {
  lane.frontier = std::max(lane.frontier, step);
  std::int64_t lowest = lane.frontier;
  for (const Lane& other : member.lanes) lowest = std::min(lowest, other.frontier);
  if (lowest <= member.frontier) return;
  member.frontier = member.own_frontier = lowest;
  region_.slot(member.slot).ended_step.store(lowest, std::memory_order_relaxed);
}

void Roster::leave(Member& member, Member::Presence how) {
  // A client without an id was never served, and the caller has logged that.
  if (how == Member::Presence::gone && member.id >= 0)
    log_line(LogLevel::debug, format("client {} is gone without having finalized", member.id));
  member.presence = how;
  member.frontier = kAllSteps;
  if (how == Member::Presence::finalized) member.own_frontier = kAllSteps;
  if (how != Member::Presence::gone) return;
  shm::set_state(region_.slot(member.slot), shm::SlotState::dead);
}

// Bounded: a faulty client may cause any number of reports and never read its mailbox. One more stands for all for which there is no room,
// so that no flush takes their steps for stored.
void Roster::notify(Member& member, PendingMail mail) {
  if (member.outbox.size() < kMostMail) return member.outbox.push_back(std::move(mail));
  log_line(LogLevel::error, format("client {} does not empty its mailbox; not delivered: {}", member.id, mail.status.message));
  mail.status.message = "further reports, for which there was no room, are " + shm::only_in_log(log_place());
  if (member.outbox.size() == kMostMail) return member.outbox.push_back(std::move(mail));
  PendingMail& rest = member.outbox.back();
  rest.step = std::min(rest.step, mail.step);
  rest.status.code = std::min(rest.status.code, mail.status.code);  // errors are negative
}

// A client that is gone may be alive but no longer served; a dead one would only fill its outbox.
void Roster::notify_all_clients(const PendingMail& mail) {
  const auto listens = [this](const Member& member) {
    using Presence = Member::Presence;
    if (member.presence == Presence::gone) return lives(member);
    return member.presence != Presence::expected && member.presence != Presence::drained;
  };
  for (Member& member : members_)
    if (member.id >= 0 && listens(member)) notify(member, mail);
}

bool Roster::deliver() {
  bool moved = false;
  for (Member& member : members_) {
    shm::ClientSlot& slot = region_.slot(member.slot);
    for (; !member.outbox.empty(); member.outbox.pop_front()) {
      const auto& [step, status] = member.outbox.front();
      if (!shm::try_post(slot, step, status.code, status.message)) break;
      moved = true;
    }
    shm::note_waiting_mail(slot, static_cast<std::uint32_t>(member.outbox.size()));
  }
  if (moved) shm::notify_progress(region_.header());
  return moved;
}

// A client empties its mailbox while it waits for its release.
bool Roster::takes_mail(const Member& member) const { return !shm::mailbox_damaged(region_.slot(member.slot)) && lives(member); }

void Roster::dismiss(Member& member, std::int64_t hold_ms) {
  if (!member.outbox.empty() && takes_mail(member)) {
    if (!member.hold) member.hold = Deadline::after_ms(hold_ms);
    if (hold_ms > 0 && !member.hold->expired()) return;
  }
  for (const PendingMail& mail : member.outbox)
    log_line(LogLevel::error, format("client {} left before this was delivered: {}", member.id, mail.status.message));
  member.outbox.clear();
  member.presence = Member::Presence::drained;
  shm::set_state(region_.slot(member.slot), shm::SlotState::drained);
  shm::notify_progress(region_.header());
}

}  // namespace damaris::server
