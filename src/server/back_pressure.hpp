// The server's part of back-pressure: what it does when the buffer fills, also while clients wait.
// Used by: the server's dispatch thread, between two callbacks of plugins.
// Before it: the ledger, which knows what is held. After it: room in the arenas, or data that are stored faster.
#pragma once

#include <optional>

#include "core/model/model.hpp"
#include "server/ledger.hpp"
#include "server/roster.hpp"
#include "server/spill.hpp"

namespace damaris::server {

class BackPressure {
 public:
  BackPressure(shm::Region& region, const model::Model& model, Ledger& ledger, const Roster& roster)
      : region_(region), model_(model), ledger_(ledger), roster_(roster) {}

  // More than half of an arena is held, and the XML allows to reduce harder.
  bool should_reduce() const;
  // Moves a block to the spill file when an arena is more than three quarters full or its client waits for room. Never one of step
  // `busy_step`, which a plugin is at. Returns whether it did.
  bool spill_one(std::optional<std::int64_t> busy_step);

 private:
  double fill(const Lane& lane) const;
  bool spill_from(std::uint32_t arena, std::optional<std::int64_t> busy_step);

  shm::Region& region_;
  const model::Model& model_;
  Ledger& ledger_;
  const Roster& roster_;
};

}  // namespace damaris::server
