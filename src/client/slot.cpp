#include "client/slot.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/shm/block.hpp"

namespace damaris::client {
namespace {

// Ignores a claimer that died before it attached.
bool has_id(const shm::Region& region, std::uint32_t index, int id) {
  const shm::ClientSlot& slot = region.slot(index);
  if (slot.id.load(std::memory_order_seq_cst) != id) return false;
  const shm::SlotState state = shm::state_of(slot);
  return state != shm::SlotState::free && (state != shm::SlotState::claimed || region.client_lives(index));
}

}  // namespace

bool try_attach(shm::ClientSlot& slot) {
  auto claimed = static_cast<std::uint32_t>(shm::SlotState::claimed);
  return slot.state.compare_exchange_strong(claimed, static_cast<std::uint32_t>(shm::SlotState::attached),
                                            std::memory_order_release, std::memory_order_relaxed);
}

void free_slot(shm::Region& region, std::uint32_t index) {
  shm::ClientSlot& slot = region.slot(index);
  slot.id.store(-1, std::memory_order_relaxed);
  slot.state.store(static_cast<std::uint32_t>(shm::SlotState::free),
                   std::memory_order_seq_cst);        // as the claim: it sees the last one
  region.memory().unlock(shm::kClientParts + index);  // last: until then this process owns the slot
}

void unlock_slot(shm::Region& region, std::uint32_t index) { region.memory().unlock(shm::kClientParts + index); }

// The lock tells whose the slot is; a claimer whose lock could be taken has died. Checks for a duplicate id after taking the slot, so that
// of two processes with the same id at least one sees the other.
bool try_claim(shm::Region& region, std::uint32_t index, int id) {
  shm::ClientSlot& slot = region.slot(index);
  // No lock of a slot that is not to be had: its owner, who may be dead, would look alive.
  const shm::SlotState now = shm::state_of(slot);
  if (now != shm::SlotState::free && now != shm::SlotState::claimed) return false;
  if (!region.memory().try_lock(shm::kClientParts + index)) return false;
  auto state = static_cast<std::uint32_t>(shm::SlotState::free);
  if (!slot.state.compare_exchange_strong(state, static_cast<std::uint32_t>(shm::SlotState::claimed), std::memory_order_seq_cst) &&
      state != static_cast<std::uint32_t>(shm::SlotState::claimed)) {
    unlock_slot(region, index);
    return false;
  }
  slot.pid = ::getpid();
  slot.id.store(id, std::memory_order_seq_cst);
  for (std::uint32_t other = 0; other < region.client_count(); ++other) {
    if (other == index || !has_id(region, other, id)) continue;
    free_slot(region, index);
    throw Error(DC_E_DUPLICATE, format("client id {} is already attached to this server (process {}); ids are unique in a run", id,
                                       region.slot(other).pid));
  }
  return true;
}

}  // namespace damaris::client
