#include "client/slot.hpp"

#include <atomic>
#include <cstdint>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/process.hpp"
#include "core/shm/states.hpp"

namespace damaris::client {
namespace {

// A single compare-exchange takes the slot and records its owner: at whatever instruction that process dies, the next one can detect it and
// take over. The slot is then initialized again.
bool take(shm::ClientSlot& slot, std::uint64_t self) {
  std::uint64_t before = slot.claimer.load(std::memory_order_relaxed);
  if (before != 0 && is_alive(process_of(before))) return false;
  if (!slot.claimer.compare_exchange_strong(before, self, std::memory_order_acquire)) return false;
  auto state = static_cast<std::uint32_t>(shm::SlotState::free);
  if (slot.state.compare_exchange_strong(state, static_cast<std::uint32_t>(shm::SlotState::claimed), std::memory_order_relaxed))
    return true;
  return state == static_cast<std::uint32_t>(shm::SlotState::claimed);
}

// Ignores a claimer that died before it attached. A claimer in another namespace is detected by the lock on its part.
bool has_id(const shm::Region& region, std::uint32_t index, int id) {
  const shm::ClientSlot& slot = region.slot(index);
  if (slot.id.load(std::memory_order_seq_cst) != id) return false;
  const shm::SlotState state = shm::state_of(slot);
  if (state == shm::SlotState::free) return false;
  return state != shm::SlotState::claimed || is_alive(process_of(slot.claimer.load(std::memory_order_relaxed))) ||
         region.memory().is_locked_elsewhere(shm::kClientParts + index);
}

}  // namespace

bool try_attach(shm::ClientSlot& slot) {
  auto claimed = static_cast<std::uint32_t>(shm::SlotState::claimed);
  return slot.state.compare_exchange_strong(claimed, static_cast<std::uint32_t>(shm::SlotState::attached),
                                            std::memory_order_release, std::memory_order_relaxed);
}

void release_slot(shm::ClientSlot& slot) {
  slot.id.store(-1, std::memory_order_relaxed);
  shm::set_state(slot, shm::SlotState::free);
  slot.claimer.store(0, std::memory_order_release);  // last: until then this process owns the slot
}

void leave_slot(shm::ClientSlot& slot) { slot.claimer.store(0, std::memory_order_release); }

// Checks for a duplicate id after taking the slot, so that of two processes with the same id at least one sees the other.
bool try_claim(shm::Region& region, std::uint32_t index, int id) {
  shm::ClientSlot& slot = region.slot(index);
  const shm::SlotState state = shm::state_of(slot);
  if (state != shm::SlotState::free && state != shm::SlotState::claimed) return false;
  if (state == shm::SlotState::claimed && is_alive(process_of(slot.claimer.load(std::memory_order_relaxed)))) return false;
  // The lock first: a process in another namespace that finds the slot taken checks whether the part is locked.
  if (!region.memory().try_lock(shm::kClientParts + index)) return false;
  const ProcessId self = this_process();
  if (!take(slot, word_of(self))) {
    region.memory().unlock(shm::kClientParts + index);
    return false;
  }
  slot.pid = self.pid;
  slot.start_time = self.start_time;
  slot.space = self.space;
  slot.id.store(id, std::memory_order_seq_cst);
  for (std::uint32_t other = 0; other < region.client_count(); ++other) {
    if (other == index || !has_id(region, other, id)) continue;
    release_slot(slot);
    region.memory().unlock(shm::kClientParts + index);
    throw Error(DC_E_DUPLICATE, format("client id {} is already attached to this server (process {}); ids are unique in a run", id,
                                       region.slot(other).pid));
  }
  return true;
}

}  // namespace damaris::client
