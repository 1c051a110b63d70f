// The server's part of back-pressure: reduces and spills when the buffer fills, also while clients wait.
// Used by: the intake side, whatever the work side does meanwhile.
// Before it: the ledger's record of held blocks. After it: room in the arenas, or data that are stored faster.
#pragma once

#include <functional>

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
  // Moves a block, or some MiB of it, to the spill file if an arena is more than three quarters full or its client waits for room. `may_move` is
  // asked about a step before one of its blocks moves. Returns whether anything moved.
  using MayMove = std::function<bool(const Step&)>;
  bool spill_one(const MayMove& may_move);

 private:
  double fill(const Lane& lane) const;
  bool spill_from(std::uint32_t arena, const MayMove& may_move);

  shm::Region& region_;
  const model::Model& model_;
  Ledger& ledger_;
  const Roster& roster_;
};

}  // namespace damaris::server
