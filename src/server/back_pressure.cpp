#include "server/back_pressure.hpp"

namespace damaris::server {
namespace {

constexpr double kReduceFrom = 0.5, kSpillFrom = 0.75;
constexpr double kSpillWhileWaiting = 0.25;  // below this fill the client is not waiting for this arena

}  // namespace

double BackPressure::fill(const Lane& lane) const {
  return static_cast<double>(ledger_.held_bytes(lane.arena())) / static_cast<double>(lane.span.arena_bytes);
}

bool BackPressure::should_reduce() const {
  if (!model_.architecture.reduces_on_full) return false;
  for (const Member& member : roster_.members())
    for (const Lane& lane : member.lanes)
      if (fill(lane) > kReduceFrom) return true;
  return false;
}

bool BackPressure::spill_one(const MayMove& may_move) {
  if (model_.architecture.spill.empty()) return false;
  if (const auto copy = ledger_.copy_in_progress()) {
    if (may_move(*copy->first)) return ledger_.spill(*copy->first, copy->second);
    ledger_.abandon_copy();  // a plugin has been given the block, perhaps for long: move another one
  }
  for (const Member& member : roster_.members()) {
    if (member.presence != Member::Presence::attached) continue;
    const bool waits = region_.slot(member.slot).waits_for_room.load(std::memory_order_relaxed) != 0;
    for (const Lane& lane : member.lanes)
      if (fill(lane) > (waits ? kSpillWhileWaiting : kSpillFrom) && spill_from(lane.arena(), may_move)) return true;
  }
  return false;
}

// Newest step first: it will be stored last.
bool BackPressure::spill_from(std::uint32_t arena, const MayMove& may_move) {
  for (Step* step : ledger_.newest_first()) {
    if (step->processed) continue;
    const auto index = step->find_block_of(arena);
    if (index && may_move(*step)) return ledger_.spill(*step, *index);
  }
  return false;
}

}  // namespace damaris::server
