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
  bool should_reduce() const {
    if (!model_.architecture.reduces_on_full) return false;
    for (const Member& member : roster_.members())
      for (const Lane& lane : member.lanes)
        if (fill(lane) > kReduceFrom) return true;
    return false;
  }
  // Moves a block, or some MiB of it, to the spill file if an arena is more than three quarters full or its client waits for room. `may_move` is
  // asked about a step before one of its blocks moves. Returns whether anything moved.
  using MayMove = std::function<bool(const Step&)>;
  bool spill_one(const MayMove& may_move) {
    if (model_.architecture.spill.empty()) return false;
    if (const auto copy = ledger_.copy_in_progress()) {
      if (may_move(*copy->first)) return ledger_.spill(*copy->first, copy->second);
      ledger_.cancel_copy();  // a plugin has been given the block, perhaps for long: move another one
    }
    for (const Member& member : roster_.members()) {
      if (member.presence != Member::Presence::attached) continue;
      const bool waits = region_.slot(member.slot).waits_for_room.load(std::memory_order_relaxed) != 0;
      for (const Lane& lane : member.lanes)
        if (fill(lane) > (waits ? kSpillWhileWaiting : kSpillFrom) && spill_from(lane.arena(), may_move)) return true;
    }
    return false;
  }

 private:
  static constexpr double kReduceFrom = 0.5, kSpillFrom = 0.75;
  static constexpr double kSpillWhileWaiting = 0.25;  // below this fill the client is not waiting for this arena

  double fill(const Lane& lane) const {
    return static_cast<double>(ledger_.held_bytes(lane.arena())) / static_cast<double>(lane.span.arena_bytes);
  }
  // Newest step first: it will be stored last.
  bool spill_from(std::uint32_t arena, const MayMove& may_move) {
    for (Step* step : ledger_.newest_first()) {
      if (step->processed) continue;
      const auto index = step->find_block_of(arena);
      if (index && may_move(*step)) return ledger_.spill(*step, *index);
    }
    return false;
  }

  shm::Region& region_;
  const model::Model& model_;
  Ledger& ledger_;
  const Roster& roster_;
};

}  // namespace damaris::server
