// How many messages a lane holds where the XML does not say: those of a few steps, so that a client that writes on while the server is
// busy does not wait for its lane before it waits for its arena.
// Used by: the server when it makes the region, and damaris check.
// Before it: the model. After it: RegionSpec::lane_messages.
#pragma once

#include <cstdint>

#include "core/model/model.hpp"

namespace damaris::shm {

// What one client sends in a step in which it writes each enabled variable once and signals each event once.
std::uint64_t step_messages(const model::Model& model);

// The capacity of each lane, a power of two: the one in the XML, or room for two steps. `clients`: of one server; 0: not known yet.
std::uint64_t lane_capacity(const model::Model& model, std::uint64_t clients);

}  // namespace damaris::shm
