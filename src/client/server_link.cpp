#include "client/server_link.hpp"

#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"

namespace damaris::client {

ServerLink::ServerLink(std::shared_ptr<shm::Region> region, std::uint32_t slot, Pump pump)
    : region_(std::move(region)),
      slot_(slot),
      pump_(std::move(pump)),
      process_(ProcessId{region_->header().server_pid, region_->header().server_start_time}) {}

shm::RegionState ServerLink::state() const {
  return static_cast<shm::RegionState>(region_->header().state.load(std::memory_order_acquire));
}

// While a call waits: the server may be on its way out, but it has not given this client up.
bool ServerLink::serves() const {
  const std::uint32_t mine = region_->slot(slot_).state.load(std::memory_order_acquire);
  return state() != shm::RegionState::closed && mine != static_cast<std::uint32_t>(shm::SlotState::dead) && process_.alive();
}

void ServerLink::require_taking() const {
  if (state() != shm::RegionState::ready || !serves()) throw_lost();
}

void ServerLink::throw_lost() const {
  const shm::RegionHeader& header = region_->header();
  const std::string server = format("server {} on {} (process {})", header.server_index, header.host, header.server_pid);
  const std::string place = region_->name().empty() ? "memory" : "/dev/shm" + region_->name();
  if (state() == shm::RegionState::leaving || state() == shm::RegionState::closed)
    throw Error(DC_E_SERVER_LOST, format("{} has ended: it stored what was published and takes nothing more", server));
  if (process_.alive())
    throw Error(DC_E_SERVER_LOST,
                format("{} does not serve client {} any more; its log says why", server, region_->slot(slot_).id.load()));
  throw Error(DC_E_SERVER_LOST, format("{} is gone; what was published stays in {}", server, place));
}

bool ServerLink::settle(Pumped until, std::int64_t timeout_ms) {
  if (!pump_) return true;
  const Deadline deadline = Deadline::after_ms(timeout_ms);
  for (Pumped last = pump_(); last != Pumped::idle && last != until; last = pump_())
    if (deadline.passed()) return false;
  return true;
}

std::string ServerLink::busy_text() const {
  const shm::RegionHeader& header = region_->header();
  const std::int64_t since = header.busy_since_ns.load(std::memory_order_relaxed);
  if (since == 0) return "";
  std::string what;
  for (const auto& letter : header.busy_with) {
    const char c = letter.load(std::memory_order_relaxed);
    if (c == '\0') break;
    what += c;
  }
  return format(", in {} for {:.1f} s", what, static_cast<double>(Clock::now().time_since_epoch().count() - since) * 1e-9);
}

std::string ServerLink::late_clients(std::int64_t step) const {
  std::vector<std::string> late;
  for (std::uint32_t index = 0; index < region_->client_count(); ++index) {
    const shm::ClientSlot& slot = region_->slot(index);
    const auto state = static_cast<shm::SlotState>(slot.state.load(std::memory_order_acquire));
    if (state == shm::SlotState::free) late.push_back(format("slot {} (not attached yet)", index));
    if (state == shm::SlotState::attached && slot.ended_step.load(std::memory_order_acquire) < step)
      late.push_back(format("client {}", slot.id.load()));
  }
  return late.empty() ? "" : format("; step {} is not ended by {}", step, join(late, ", "));
}

std::string ServerLink::describe(std::int64_t step) const {
  const shm::RegionHeader& header = region_->header();
  return format("server {} on {} (process {}{}){}", header.server_index, header.host, header.server_pid, busy_text(),
                late_clients(step));
}

}  // namespace damaris::client
