// What a model determines of the sizes in its region: which lists the block headers of a variable have, and how many messages a lane holds
// where the XML does not say: those of a few steps, so that a client that writes on while the server is busy does not wait for its lane
// before it waits for its arena.
// Used by: the client; the server when it makes the region; the configuration and damaris check, for what can ever fit.
// Before it: the model. After it: the length of a block, to which a position set by the program adds a list; RegionSpec::lane_messages.
#pragma once

#include <cstdint>

#include "core/model/model.hpp"
#include "core/shm/block.hpp"

namespace damaris::shm {

// Of the blocks of a variable with that layout.
inline Form form_of(const model::Layout& layout) {
  const int global = layout.global.empty() ? 0 : kHasGlobal, ghost = layout.ghost.empty() ? 0 : kHasGhost;
  return {static_cast<int>(layout.dimensions.size()), global | ghost};
}

// What one client sends in a step in which it writes each enabled variable once and signals each event once.
std::uint64_t step_messages(const model::Model& model);

// The capacity of each lane, a power of two: the one in the XML, or room for two steps. `clients`: of one server; 0: not known yet.
std::uint64_t lane_capacity(const model::Model& model, std::uint64_t clients);

}  // namespace damaris::shm
