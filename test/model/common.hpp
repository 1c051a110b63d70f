// What the scenarios share: the ring's size, an event, how a scenario is made.
// Used by: the scenarios, in instrumented files.
// Before it: scenarios.hpp. After it: lane_scenarios.cpp and the other scenarios.
#pragma once

#include "core/shm/layout.hpp"
#include "model/scenarios.hpp"

namespace damaris::explorer {

constexpr std::uint64_t kRing = 2;

inline shm::Message event_of(std::int64_t step) {
  shm::Message event = {};
  event.kind = shm::MessageKind::write;
  event.step = step;
  event.block_offset = static_cast<std::uint64_t>(step) * 7;
  return event;
}

template <class What, class How>
Make maker(How how) {
  return [how](std::byte* memory) { return std::make_unique<What>(memory, how); };
}

}  // namespace damaris::explorer
