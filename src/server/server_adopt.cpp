// How a server takes over what a dead one left in its region. The rest of the server is in server.cpp.
#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/shm/arena.hpp"
#include "core/shm/decision.hpp"
#include "core/shm/open_steps.hpp"
#include "server/server.hpp"

namespace damaris::server {
namespace {

constexpr const char* kLacksWrites = "writes of it were left out for want of room, before the server died that knew which";

}  // namespace

void Server::adopt(bool gives_up_spilled) {
  adopted_ = true;
  take_no_more();
  roster_.adopt();
  // Steps are stored in order, and given back then: what is left of these is no step's whole.
  const shm::RegionHeader& header = region_->header();
  settled_ = std::max(header.releasing.load(std::memory_order_acquire), header.last_processed.load(std::memory_order_acquire));
  adopt_spilled(gives_up_spilled);
  restore_open_steps();
  std::unordered_set<std::uint64_t> waiting;
  for (Member& member : roster_.members())
    for (Lane& lane : member.lanes)
      lane.reader.for_each_waiting([&](const shm::Message& event) {
        if (event.kind == shm::MessageKind::write) waiting.insert(event.block_offset);
      });
  for (Member& member : roster_.members())
    for (Lane& lane : member.lanes)
      if (region_->keeps_arena(lane.index)) adopt_arena(member, lane, waiting);
}

// What the dead server had heard beside the blocks. Of a step of which all was refused nothing else is left.
void Server::restore_open_steps() {
  const auto open = [&](std::int64_t step) -> Iteration& {
    highest_step_ = std::max(highest_step_, step);
    return ledger_.open(step);
  };
  for (const shm::HeardOf& heard : shm::heard_of_open_steps(region_->header(), settled_)) {
    Iteration& iteration = open(heard.step);
    if (heard.time) iteration.set_time(*heard.time);
    if (heard.lacks_writes) iteration.note_lost(kLacksWrites);
  }
  constexpr std::int64_t kMost = 4096;
  const shm::CrowdedSteps crowded = shm::crowded_steps(region_->header(), settled_);
  for (std::int64_t step = crowded.first; step <= crowded.last && step - crowded.first < kMost; ++step) open(step);
  if (crowded.last - crowded.first >= kMost)
    log_line(LogLevel::warning,
             format("of some steps from {} to {} writes were left out for want of room, or only a physical time was "
                    "given; not all of them are recorded",
                    crowded.first, crowded.last));
}

// What nobody knows of which steps it was counts for all of them. Which variables were left out only the clients knew.
void Server::restore(Iteration& iteration) {
  if (!lost_sentence_.empty()) iteration.note_lost(lost_sentence_);
  shm::RegionHeader& header = region_->header();
  const shm::CrowdedSteps crowded = shm::crowded_steps(header, settled_);
  if (iteration.step() >= crowded.first && iteration.step() <= crowded.last) {
    if (crowded.may_lack_writes) iteration.note_lost(kLacksWrites);
    if (crowded.may_have_times && !iteration.has_time())
      log_line(LogLevel::warning, format("the physical time of step {} is not known any more, if it had one", iteration.step()));
  }
  const shm::Decision decision = shm::decided(header, iteration.step());
  for (const model::Variable& variable : model_->variables) {
    const bool skipped = variable.on_full == model::OnFull::skip && decision.skips(variable.priority);
    if (variable.enabled && (decision.drops() || skipped)) iteration.refuse(variable.id, decision.drops());
  }
}

// A block that was being spilled may be in the region as well: the first one counts.
void Server::adopt_spilled(bool gives_up_missing) {
  Spill& file = ledger_.spill_file();
  file.keep();
  file.adopt([&](const shm::BlockHeader& header, const SpilledBlock& place) {
    const Intake intake = check_spilled(header, place, infos_);
    if (!intake.fault.empty()) {
      log_line(LogLevel::error, format("a dataset in {} is damaged: {}", file.path(), intake.fault));
      return Spill::Found::damaged;
    }
    if (header.step <= settled_ || ledger_.holds(intake.dataset)) return Spill::Found::over;
    highest_step_ = std::max(highest_step_, header.step);
    const auto [first, last] = spilled_steps_.value_or(std::pair(header.step, header.step));
    spilled_steps_ = {std::min(first, header.step), std::max(last, header.step)};
    (void)ledger_.add(intake.dataset, intake.block);
    return Spill::Found::kept;
  });
  if (file.missing() == 0) return;
  const bool refused = !file.why_refused().empty();
  const std::string why =
      refused ? "are not taken from there: " + file.why_refused() : "cannot be found there: the file is gone, cut or damaged";
  const std::string what = format("{} datasets that were spilled to {} {}", file.missing(), file.path(), why);
  if (!gives_up_missing)
    throw Error(DC_E_NO_OUTPUT, format("{}; {}, or give them up with 'damaris recover --give-up-spilled'", what,
                                       refused ? "put that right, as it may hold them whole" : "put it back"));
  given_up_ += file.missing();
  lost_sentence_ = what + ", and may belong to this step";
  file.give_up_missing();
  note_failure(DC_E_IO, what + ", and are given up");
}

// Blocks whose events wait in a lane come with these; the dead server had taken the others.
void Server::adopt_arena(Member& keeper, Lane& lane, const std::unordered_set<std::uint64_t>& waiting) {
  const auto adopt = [&](shm::BlockHeader& block, std::uint64_t offset) {
    const std::uint64_t place = lane.span.arena_offset + offset;
    if (block.state.load(std::memory_order_acquire) != static_cast<std::uint32_t>(shm::BlockState::published)) return;
    if (waiting.count(place) > 0 || block.step < 0 || block.step > shm::kHighestStep) return;
    if (block.step <= settled_) return block.state.store(static_cast<std::uint32_t>(shm::BlockState::released));
    shm::Message event = {};
    event.kind = shm::MessageKind::write;
    event.step = block.step;
    event.block_offset = place;
    Member* member = region_->pool() == nullptr ? &keeper : roster_.find(block.source);
    if (member == nullptr) return;  // nobody's: it stays, and is told of as what is left
    member->last_step = std::max(member->last_step, event.step);
    highest_step_ = std::max(highest_step_, event.step);
    take_block(*member, lane, event);
  };
  if (shm::walk_arena(region_->at(lane.span.arena_offset), lane.span.arena_bytes, adopt) || region_->never_made(lane.index)) return;
  lost_sentence_ =
      format("the arena of client {} is damaged: what lies behind that is not known, and may belong to this step", keeper.id);
}

}  // namespace damaris::server
