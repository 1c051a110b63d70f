// Takes over the contents of a dead server's region and spill file.
// Used by: the intake side of a recovery, before the first message is dequeued and when a step completes.
// Before it: a region without a server. After it: the ledger holds the blocks that the dead server had accepted and not stored.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "core/shm/region.hpp"
#include "core/shm/steps.hpp"
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

  // Call once. Throws Error(DC_E_NO_OUTPUT) if spilled blocks are missing, unless `ignore_missing_spill`. Passes blocks whose messages are no
  // longer in a lane to `receive_block`.
  void adopt_region(bool ignore_missing_spill, const TakeBlock& receive_block);

  // The steps that the dead server had processed: stored, or given up.
  const shm::FinishedSteps& finished_steps() const noexcept { return finished_; }
  // Number of datasets that were spilled and lost, or arrived after their step was stored.
  std::uint64_t given_up() const noexcept { return given_up_; }
  // The lowest and the highest step found in the spill file.
  std::optional<std::pair<std::int64_t, std::int64_t>> spilled_steps() const noexcept { return spilled_steps_; }
  // True if data of unknown steps are lost, so that no step is certain to be complete.
  bool is_damaged() const noexcept { return !lost_sentence_.empty(); }

  // Call when a step completes: adds the facts that the dead server recorded besides its blocks.
  void restore(Step& step);
  // Discards the block of a message for a finished step.
  void discard_late_write(const Member& member, const Lane& lane, const shm::Message& message);

 private:
  void adopt_spill(bool forget_missing);
  Spill::Verdict adopt_spilled_block(const shm::BlockHeader& header, const SpilledBlock& place);
  void restore_open_steps();
  bool drop_spilled_copy(const Member& member, const Lane& lane, const shm::Message& message);
  void receive_append(Member& keeper, const shm::BlockHeader& block, std::uint64_t place, const TakeBlock& receive_block);
  void adopt_arena(Member& keeper, Lane& lane, const std::unordered_set<std::uint64_t>& waiting, const TakeBlock& receive_block);

  shm::Region& region_;
  const model::Model& model_;
  Ledger& ledger_;
  Roster& roster_;
  const VariableInfos& infos_;
  Failures& failures_;
  shm::FinishedSteps finished_;
  std::int64_t omitted_until_ = shm::kNoStep;  // steps up to this one may lack writes
  std::uint64_t given_up_ = 0;
  std::optional<std::pair<std::int64_t, std::int64_t>> spilled_steps_;
  std::string lost_sentence_;  // describes lost datasets whose steps are unknown
};

}  // namespace damaris::server
