// The server's part of back-pressure: reduces and spills when the buffer fills, also while clients wait.
// Used by: the server's dispatch thread, between two callbacks of plugins.
// Before it: the ledger's record of held blocks. After it: room in the arenas, or data that are stored faster.
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

  // True if more than half of an arena is held and the XML allows stronger reduction.
  bool should_reduce() const;
  // Moves a block to the spill file if an arena is more than three quarters full or its client waits for room. Never a block of
  // `busy_step`, which a plugin is processing. Returns whether it moved one.
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
