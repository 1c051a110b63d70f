// Transfers the ownership of a block: the client publishes it and then pushes the message that announces it. The server returns a
// requested block with its answer.
// Used by: client threads, after the last byte of a block; the server, after the last byte of an answer.
// Before it: a reserved block, filled. After it: the server dequeues the message and finds the block published.
#pragma once

#include "core/shm/block.hpp"
#include "core/shm/lane.hpp"
#include "core/shm/states.hpp"

namespace damaris::shm {

// `state`: published, or requested. Precondition: the lane has room, which the caller has checked; only its thread pushes to the lane. A
// client killed between the two stores leaves a block that recovery finds.
inline void publish_block(BlockHeader& block, BlockState state, LaneWriter& lane, const shm::Message& message) noexcept {
  set_state(block, state);
  lane.try_push(message);
}

// Client: abandons the read into a requested block. Returns false if the answer has already arrived.
inline bool abandon_read(BlockHeader& block) noexcept {
  auto asked = static_cast<std::uint32_t>(BlockState::requested);
  return block.state.compare_exchange_strong(asked, static_cast<std::uint32_t>(BlockState::abandoned), std::memory_order_acquire);
}

// Server: marks the block as answered. Returns false if the client has abandoned the read.
inline bool answer(BlockHeader& block) noexcept {
  auto asked = static_cast<std::uint32_t>(BlockState::requested);
  return block.state.compare_exchange_strong(asked, static_cast<std::uint32_t>(BlockState::answered), std::memory_order_release,
                                             std::memory_order_relaxed);
}

}  // namespace damaris::shm
