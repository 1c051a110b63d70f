// Which process has which client slot of a region: taken when a client attaches; free for the next one when that process has ended.
// Used by: the three ways to start, and the client; any number of processes of the node at once.
// Before it: the region, or a start that died at any instruction. After it: a Client in the slot.
#pragma once

#include <cstdint>

#include "core/shm/region.hpp"

namespace damaris::client {

// Takes slot `slot` of the region for client `id`, also from a process that ended before it was attached. Returns false when another
// process has it; throws Error(DC_E_DUPLICATE) when another slot has the same id.
bool try_claim(shm::Region& region, std::uint32_t slot, int id);

// By its claimer alone, before it is attached.
void release_slot(shm::ClientSlot& slot);

shm::SlotState state_of(const shm::ClientSlot& slot);

}  // namespace damaris::client
