// How the states of a region, a slot and a block are published and read: a reader of a state sees what was stored before it.
// Used by: clients, the server and recovery.
// Before it: layout.hpp and block.hpp, which say which process may set which state. After it: whatever the state allows.
#pragma once

#include "core/shm/block.hpp"

namespace damaris::shm {

inline RegionState state_of(const RegionHeader& header) noexcept {
  return static_cast<RegionState>(header.state.load(std::memory_order_acquire));
}
inline void set_state(RegionHeader& header, RegionState state) noexcept {
  header.state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
}

inline SlotState state_of(const ClientSlot& slot) noexcept {
  return static_cast<SlotState>(slot.state.load(std::memory_order_acquire));
}
inline void set_state(ClientSlot& slot, SlotState state) noexcept {
  slot.state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
}

inline BlockState state_of(const BlockHeader& block) noexcept {
  return static_cast<BlockState>(block.state.load(std::memory_order_acquire));
}
inline void set_state(BlockHeader& block, BlockState state) noexcept {
  block.state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
}

}  // namespace damaris::shm
