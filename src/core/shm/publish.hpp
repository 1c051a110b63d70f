// The moment at which a block changes hands: first the block is published, then the event that tells of it is pushed.
// Used by: client threads, after the last byte of a block.
// Before it: a reserved block, filled. After it: the server takes the event and finds the block published.
#pragma once

#include "core/shm/lane.hpp"

namespace damaris::shm {

// `state`: published, or asked. The lane has room: the caller has looked, and only its thread fills it. A client that is killed between
// the two leaves a block that recovery finds.
inline void hand_over(BlockHeader& block, BlockState state, LaneWriter& lane, const event::Event& event) noexcept {
  block.state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
  lane.try_push(event);
}

}  // namespace damaris::shm
