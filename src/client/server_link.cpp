#include "client/server_link.hpp"

#include <limits>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/shm/block.hpp"
#include "core/shm/doorbell.hpp"
#include "core/shm/lane.hpp"
#include "core/shm/mailbox.hpp"
#include "core/shm/server_facts.hpp"

namespace damaris::client {

bool Reports::collect() {
  if (!shm::has_mail(slot_)) return false;
  bool any = false;
  {
    const std::lock_guard lock(mutex_);
    for (auto mail = shm::try_take_mail(slot_); mail; mail = shm::try_take_mail(slot_)) {
      any = true;
      kept_.emplace(Key{mail->code > DC_OK, mail->step, number_++}, Status{mail->code, mail->sentence});
    }
  }
  if (any && !are_complete()) shm::ring_server(region_.header());
  return any;
}

bool Reports::are_complete() const noexcept { return shm::all_posted(slot_); }

std::optional<Status> Reports::take(std::int64_t up_to_step) {
  collect();
  const std::lock_guard lock(mutex_);
  const auto fits = [&](const Key& key) { return std::get<1>(key) <= up_to_step; };
  auto best = kept_.begin();
  if (best != kept_.end() && !fits(best->first)) best = kept_.lower_bound({true, std::numeric_limits<std::int64_t>::min(), 0});
  if (best == kept_.end() || !fits(best->first)) return std::nullopt;
  Status report = std::move(best->second);
  kept_.erase(best);
  return report;
}

std::string Reports::drain_text() {
  std::string text;
  while (const auto report = take(std::numeric_limits<std::int64_t>::max()))
    text += format("{}{}", text.empty() ? "; it had to say: " : "; also: ", report->message);
  return text;
}

ServerLink::ServerLink(std::shared_ptr<shm::Region> region, std::uint32_t slot, Pump pump)
    : region_(std::move(region)), slot_(slot), pump_(std::move(pump)), reports_(*region_, slot) {}

bool ServerLink::is_attached() const { return shm::state_of(region_->slot(slot_)) == shm::SlotState::attached; }

// True while a call may wait: the server may be leaving, but it still serves this client.
bool ServerLink::serves() const {
  const shm::RegionState now = state();
  return now != shm::RegionState::closed && now != shm::RegionState::lost && is_attached() && region_->is_served();
}

void ServerLink::require_accepting() const {
  if (state() != shm::RegionState::ready || !serves()) throw_lost();
}

void ServerLink::require_not_stopping() const {
  if (const shm::RegionState now = state(); now == shm::RegionState::leaving || now == shm::RegionState::closed) throw_lost();
}

// A background server has no other channel to the user, and a program may ignore return codes.
void ServerLink::throw_lost() const try { throw_server_lost(); } catch (const Error& error) {
  if (region_->header().detached != 0 && !loss_logged_.exchange(true, std::memory_order_relaxed))
    log_line(LogLevel::error, error.sentence());
  throw;
}

void ServerLink::throw_server_lost() const {
  const shm::RegionHeader& header = region_->header();
  const std::string server = format("server {} on {} (process {})", header.server_index, header.host, header.server_pid);
  const shm::ClientSlot& mine = region_->slot(slot_);
  const std::string mail = reports_.drain_text();  // the last opportunity
  const std::string log = shm::log_of(*region_), log_says_why = shm::log_says(log, "says why");
  const bool leaving = state() == shm::RegionState::leaving && region_->is_served();
  if (leaving && mail.empty())
    throw Error(DC_E_SERVER_LOST,
                format("{} has ended: it takes nothing more, and is storing what it had taken until then; {}{}", server,
                       shm::log_says(log, "says whether all of that could be stored"), unread_messages_text()));
  if (state() == shm::RegionState::lost)
    throw Error(DC_E_SERVER_LOST, format("{} was ended by a fault; {}{}", server, region_location(" once that process is gone"),
                                         mail.empty() ? "; " + log_says_why : mail));
  if (leaving || state() == shm::RegionState::closed)
    throw Error(DC_E_SERVER_LOST, format("{} has ended{}{}", server,
                                         mail.empty() ? ": it stored what it had taken until then and takes nothing more" : mail,
                                         unread_messages_text()));
  if (region_->is_served())
    throw Error(DC_E_SERVER_LOST,
                format("{} does not serve client {} any more{}{}", server, mine.id.load(std::memory_order_relaxed),
                       mail.empty() ? ": " + log_says_why : mail, unread_messages_text()));
  // Killed while stopping: it would have accepted nothing more from this client.
  const bool was_given_up = shm::state_of(mine) == shm::SlotState::dead;
  throw Error(DC_E_SERVER_LOST, format("{} is gone{}; {}{}{}", server, busy_text(), region_location(""), mail,
                                       was_given_up ? unread_messages_text() : ""));
}

// Where the data are that the lost server has not stored. A region without its name vanishes with its last process.
std::string ServerLink::region_location(const char* when) const {
  if (region_->name().empty()) return "what it had not stored is lost";
  const std::string place = "/dev/shm" + region_->name();
  if (!region_->memory().has_name())
    return format(
        "the name of its region, {}, is gone, as by another start of the simulation, by logind's RemoveIPC or by another process "
        "that clears /dev/shm: what was not stored is lost",
        place);
  return format("what was published stays in {}, from where 'damaris recover' stores it{}", place, when);
}

// Reports what the server will never dequeue. A server that is leaving still takes what the lanes hold, until it has given this client up.
std::string ServerLink::unread_messages_text() const {
  if (state() == shm::RegionState::leaving && is_attached()) return "";
  std::uint64_t events = 0, appends = 0;
  for (std::uint32_t thread = 0; thread < region_->threads(); ++thread) {
    const shm::LaneSpan span = region_->span(slot_ * region_->threads() + thread);
    const shm::LaneReader lane(reinterpret_cast<shm::LaneHeader*>(region_->at(span.lane_offset)), region_->lane_messages());
    lane.for_each_waiting([&](const shm::Message& message) {
      appends += message.kind == shm::MessageKind::append ? 1 : 0;
      events += message.kind == shm::MessageKind::write || message.kind == shm::MessageKind::signal ? 1 : 0;
    });
  }
  const auto too_late = [&](std::uint64_t count, const char* what) {
    return count == 0 ? ""
                      : format("; the last {} {} of client {} came too late and are not stored", count, what,
                               region_->slot(slot_).id.load(std::memory_order_relaxed));
  };
  return too_late(events, "writes and signals") + too_late(appends, "appends");
}

bool ServerLink::pump_until(PumpResult until, std::int64_t timeout_ms) {
  if (!pump_) return true;
  const Deadline deadline = Deadline::after_ms(timeout_ms);
  for (PumpResult last = pump(); last != PumpResult::idle && last != PumpResult::blocked && last != until; last = pump())
    if (deadline.expired()) return false;
  return true;
}

// Room in the mailbox is work for the server, if it has more reports.
PumpResult ServerLink::pump() {
  const PumpResult result = pump_();
  return reports_.collect() ? PumpResult::worked : result;
}

std::string ServerLink::busy_text() const {
  const shm::Busy busy = shm::busy_with(region_->header());
  if (busy.since_ns == 0) return "";
  // The start time of a waiting plugin is reset with each of its callbacks.
  return busy.seconds < 0.01 ? format(", in {}", busy.what) : format(", in {} for {:.1f} s", busy.what, busy.seconds);
}

// True if the server has not dequeued all of the client's messages, which may end the step.
bool ServerLink::has_unread_messages(std::uint32_t client) const {
  for (std::uint32_t thread = 0; thread < region_->threads(); ++thread) {
    const shm::LaneHeader* lane = region_->lane(client * region_->threads() + thread);
    if (lane->head.load(std::memory_order_relaxed) != lane->tail.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

// Only those that are furthest behind: the others may themselves be waiting for them.
ServerLink::Late ServerLink::late_clients(std::int64_t step) const {
  Late late{step, {}};
  const auto add = [&](std::int64_t ended, const std::string& name) {
    if (ended >= step || ended > late.ended) return;
    if (ended < late.ended) late = {ended, {}};
    late.names.push_back(name);
  };
  const bool awaits_slots = region_->header().last_complete.load(std::memory_order_relaxed) == shm::kNoStep;
  for (std::uint32_t index = 0; index < region_->client_count(); ++index) {
    if (index == slot_) continue;  // this client has ended it, even if the server has not seen that yet
    const shm::ClientSlot& slot = region_->slot(index);
    const auto state = shm::state_of(slot);
    if (awaits_slots && (state == shm::SlotState::free || state == shm::SlotState::claimed))
      add(shm::kNoStep, format("slot {} (not attached yet)", index));
    if (state == shm::SlotState::attached && !has_unread_messages(index))
      add(slot.ended_step.load(std::memory_order_relaxed), format("client {}", slot.id.load(std::memory_order_relaxed)));
  }
  return late;
}

bool ServerLink::waits_for_clients(std::int64_t step) const { return !late_clients(step).names.empty(); }

std::string ServerLink::late_text(std::int64_t step) const {
  const Late late = late_clients(step);
  if (late.names.empty()) return "";
  const std::string since = late.ended == shm::kNoStep ? "no step yet" : format("none since step {}", late.ended);
  return format("; step {} is not ended by {}, which {} ended {}", step, join(late.names, ", "),
                late.names.size() == 1 ? "has" : "have", since);
}

std::string ServerLink::describe(std::int64_t step) const {
  const shm::RegionHeader& header = region_->header();
  return format("server {} on {} (process {}{}){}", header.server_index, header.host, header.server_pid, busy_text(),
                late_text(step));
}

}  // namespace damaris::client
