// The moments at which a block changes its owner: first the block is published, then the event that announces it is pushed. A block that a
// client asks for comes back with the answer.
// Used by: client threads, after the last byte of a block; the server, after the last byte of an answer.
// Before it: a reserved block, filled. After it: the server takes the event and finds the block published.
#pragma once

#include "core/shm/block.hpp"
#include "core/shm/lane.hpp"

namespace damaris::shm {

// `state`: published, or asked. The lane has room: the caller has checked it, and only its thread fills the lane. A client that is killed
// between the two stores leaves a block that recovery finds.
inline void publish_block(BlockHeader& block, BlockState state, LaneWriter& lane, const shm::Message& event) noexcept {
  block.state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
  lane.try_push(event);
}

// Abandons the read of a block that was asked for. Returns false when the answer has arrived meanwhile.
inline bool abandon_read(BlockHeader& block) noexcept {
  auto asked = static_cast<std::uint32_t>(BlockState::requested);
  return block.state.compare_exchange_strong(asked, static_cast<std::uint32_t>(BlockState::abandoned), std::memory_order_acq_rel);
}

// The server's answer. Returns false when the client has abandoned the read: it will not look at the answer.
inline bool answer(BlockHeader& block) noexcept {
  auto asked = static_cast<std::uint32_t>(BlockState::requested);
  return block.state.compare_exchange_strong(asked, static_cast<std::uint32_t>(BlockState::answered), std::memory_order_acq_rel);
}

}  // namespace damaris::shm
