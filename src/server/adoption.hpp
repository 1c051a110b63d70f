// What a second server takes over from the region and the spill file of a dead one.
// Used by: the intake side of a recovery, before the first message is taken and when a step completes.
// Before it: a region without a server. After it: the ledger holds what the dead server had taken and not stored.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "core/shm/region.hpp"
#include "server/failures.hpp"
#include "server/intake.hpp"
#include "server/ledger.hpp"
#include "server/roster.hpp"

namespace damaris::server {

class Adoption {
 public:
  using TakeBlock = std::function<void(Member&, Lane&, const shm::Message&)>;

  Adoption(shm::Region& region, const model::Model& model, Ledger& ledger, Roster& roster, const VariableInfos& infos,
           Failures& failures);

  // Once. `give_up_spilled`: what cannot be found in the spill file; else that throws Error(DC_E_NO_OUTPUT). Blocks whose messages no longer
  // wait in a lane go to `take_block`.
  void take_over(bool give_up_spilled, const TakeBlock& take_block);

  // The dead server had stored all steps up to this one, or given them up.
  std::int64_t settled() const noexcept { return settled_; }
  // Datasets that were spilled and lost, or came after their step was stored.
  std::uint64_t given_up() const noexcept { return given_up_; }
  // The lowest and the highest step of what the spill file held.
  std::optional<std::pair<std::int64_t, std::int64_t>> spilled_steps() const noexcept { return spilled_steps_; }
  // Something is damaged, so that no step is certain to be whole.
  bool is_damaged() const noexcept { return !lost_sentence_.empty(); }

  // A step is complete: adds what the dead server had heard of it beside its blocks.
  void restore(Step& step);
  // A message of a step that is settled.
  void discard_late_write(const Member& member, const Lane& lane, const shm::Message& message);

 private:
  void take_spilled(bool give_up_missing);
  Spill::Verdict take_spilled_block(const shm::BlockHeader& header, const SpilledBlock& place);
  void restore_open_steps();
  void take_arena(Member& keeper, Lane& lane, const std::unordered_set<std::uint64_t>& waiting, const TakeBlock& take_block);

  shm::Region& region_;
  const model::Model& model_;
  Ledger& ledger_;
  Roster& roster_;
  const VariableInfos& infos_;
  Failures& failures_;
  std::int64_t settled_ = shm::kNoStep;
  std::uint64_t given_up_ = 0;
  std::optional<std::pair<std::int64_t, std::int64_t>> spilled_steps_;
  std::string lost_sentence_;  // about datasets that nobody knows the steps of
};

}  // namespace damaris::server
