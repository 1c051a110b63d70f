// Claims the client slots of a region for processes: a slot whose claimer died before attaching can be claimed again.
// Used by: the three ways to start, and the client; any number of processes of the node concurrently.
// Before it: the region, or a start that died at any instruction. After it: a Client in the slot.
#pragma once

#include <cstdint>

#include "core/shm/region.hpp"

namespace damaris::client {

// Claims slot `slot` of the region for client `id`, also from a process that died before it attached. Returns false if another process owns
// it; throws Error(DC_E_DUPLICATE) if another slot has the same id.
bool try_claim(shm::Region& region, std::uint32_t slot, int id);

// Only for the claimer, before it attaches.
void free_slot(shm::Region& region, std::uint32_t slot);

// Only for the process that has attached, which publishes nothing more: a recovery need not wait for its end.
void unlock_slot(shm::Region& region, std::uint32_t slot);

// Only for the claimer, once its arenas are made. Returns false if the server has stopped waiting for it.
bool try_attach(shm::ClientSlot& slot);

}  // namespace damaris::client
