// What the region of a dead server alone knows of losses, until a recovery has recorded it in the manifest.
// Used by: servers at start-up, damaris-recover, damaris-verify; one thread.
// Before it: the facts in the header (open_steps.hpp, given_up.hpp). After it: messages, and recovery.
#pragma once

#include <optional>
#include <string>

#include "core/shm/given_up.hpp"
#include "core/shm/layout.hpp"
#include "core/shm/open_steps.hpp"

namespace damaris::shm {

struct Losses {
  bool any() const { return left_out || given_up.any(); }
  // From the first to the last of these steps.
  std::optional<StepRange> range() const;
  // "writes of step 7 were left out for want of room, and steps 8 to 9 were given up".
  std::string text() const;

  std::optional<StepRange> left_out;  // steps with omitted writes
  GivenUp given_up;                   // steps whose lines the manifest may lack
};

Losses losses_of(const RegionHeader& header);

}  // namespace damaris::shm
