#include "server/adoption.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/shm/block.hpp"
#include "core/shm/steps.hpp"

namespace damaris::server {
namespace {

constexpr const char* kLacksWrites = "writes of it were left out for lack of room, and the server that knew which has died";

}  // namespace

Adoption::Adoption(shm::Region& region, const model::Model& model, Ledger& ledger, Roster& roster, const VariableInfos& infos,
                   Failures& failures)
    : region_(region), model_(model), ledger_(ledger), roster_(roster), infos_(infos), failures_(failures) {}

void Adoption::adopt_region(bool ignore_missing_spill, const TakeBlock& receive_block) {
  roster_.adopt();
  // Steps are stored in order and then released: blocks left of a finished step are not all of it.
  finished_ = shm::finished_steps(region_.header());
  adopt_spill(ignore_missing_spill);
  restore_open_steps();
  std::unordered_set<std::uint64_t> waiting;
  for (Member& member : roster_.members())
    for (Lane& lane : member.lanes)
      lane.reader.for_each_waiting([&](const shm::Message& message) {
        if (message.kind == shm::MessageKind::write || message.kind == shm::MessageKind::append)
          waiting.insert(message.block_offset);
      });
  for (Member& member : roster_.members())
    for (Lane& lane : member.lanes)
      if (region_.owns_arena(lane.index)) adopt_arena(member, lane, waiting, receive_block);
}

// A block that was being spilled may also be in the region: the first copy counts.
Spill::Verdict Adoption::adopt_spilled_block(const shm::BlockHeader& header, const SpilledBlock& place) {
  const Intake intake = check_spilled(header, place, infos_);
  if (!intake.fault.empty()) {
    log_line(LogLevel::error, format("a dataset in {} is damaged: {}", ledger_.spill_file().path(), intake.fault));
    return Spill::Verdict::damaged;
  }
  if (finished_.contains(header.step) || ledger_.holds(intake.dataset)) return Spill::Verdict::obsolete;
  const auto [first, last] = spilled_steps_.value_or(std::pair(header.step, header.step));
  spilled_steps_ = {std::min(first, header.step), std::max(last, header.step)};
  (void)ledger_.add(intake.dataset, intake.block);
  return Spill::Verdict::kept;
}

void Adoption::adopt_spill(bool forget_missing) {
  Spill& file = ledger_.spill_file();
  file.keep();
  file.adopt([&](const shm::BlockHeader& header, const SpilledBlock& place) { return adopt_spilled_block(header, place); });
  if (file.missing() == 0) return;
  const bool refused = !file.refusal().empty();
  const std::string why =
      refused ? "are not taken from there: " + file.refusal() : "cannot be found there: the file is gone, cut or damaged";
  const std::string what = format("{} blocks that were spilled to {} {}", file.missing(), file.path(), why);
  if (!forget_missing)
    throw Error(DC_E_NO_OUTPUT, format("{}; {}, or give them up with 'damaris recover --give-up-spilled'", what,
                                       refused ? "fix that, because it may still hold them" : "put it back"));
  given_up_ += file.missing();
  lost_sentence_ = what + ", and may belong to this step";
  file.forget_missing();
  failures_.record(DC_E_IO, what + ", and are given up");
}

// Restores what the dead server and its clients recorded besides the blocks. A step whose writes were all omitted has left nothing else.
void Adoption::restore_open_steps() {
  const shm::RegionHeader& header = region_.header();
  for (const auto& [step, time] : shm::known_times(header)) ledger_.open(step).set_time(time);
  for (const std::int64_t step : shm::omitted_steps(header)) ledger_.open(step);
  omitted_until_ = shm::omitted_until(header);
  if (omitted_until_ != shm::kNoStep)
    log_line(LogLevel::warning,
             format("of steps up to {} writes were left out for lack of room; those of which nothing else is left "
                    "are not recorded",
                    omitted_until_));
}

// A loss whose step is unknown counts against every step. Only the clients knew which variables were omitted.
void Adoption::restore(Step& step) {
  if (!lost_sentence_.empty()) step.record_loss(lost_sentence_);
  const shm::Omission omission = shm::omission_of(region_.header(), step.step());
  if (step.step() <= omitted_until_ || omission.is_of(step.step())) step.record_loss(kLacksWrites);
  for (const model::Variable& variable : model_.variables) {
    const bool skipped = variable.on_full == model::OnFull::skip && omission.skips(variable.priority);
    if (variable.enabled && (omission.drops() || skipped)) step.omit(variable.id, omission.drops());
  }
}

// A block of a step that the dead server had already stored arrived too late, from a client declared dead or damaged. It must not be
// mistaken for the whole step.
void Adoption::discard_late_write(const Member& member, const Lane& lane, const shm::Message& message) {
  if (message.kind != shm::MessageKind::write) return;
  const Intake intake = check_block(region_, lane.span, member.id, message, infos_);
  if (!intake.fault.empty()) return;
  ++given_up_;
  log_line(LogLevel::warning, format("'{}' of client {} arrived after step {} was stored, and is given up",
                                     intake.dataset.variable->path, member.id, message.step));
  ledger_.release(intake.block);
}

// The block that the dead server had spilled last may still be in the arena. Another one of the same name has other bytes: the dead server
// had rejected it, as a recovery does.
bool Adoption::drop_spilled_copy(const Member& member, const Lane& lane, const shm::Message& message) {
  const Intake intake = check_block(region_, lane.span, member.id, message, infos_);
  if (!intake.fault.empty() || !ledger_.holds_spilled(intake.dataset)) return false;
  ledger_.release(intake.block);
  return true;
}

// An append has been taken from its lane, or its client died before it was announced.
void Adoption::receive_append(Member& keeper, const shm::BlockHeader& block, std::uint64_t place, const TakeBlock& receive_block) {
  Member* const member = region_.pool() == nullptr ? &keeper : roster_.find(block.source);
  if (member == nullptr || block.block < 0 || static_cast<std::size_t>(block.block) >= member->lanes.size()) return;
  shm::Message message = {};
  message.kind = shm::MessageKind::append;
  message.step = shm::kNoStep;
  message.block_offset = place;
  receive_block(*member, member->lanes[static_cast<std::size_t>(block.block)], message);
}

// Skips blocks whose messages are still in a lane; the dead server had dequeued the messages of the others.
void Adoption::adopt_arena(Member& keeper, Lane& lane, const std::unordered_set<std::uint64_t>& waiting,
                           const TakeBlock& receive_block) {
  const auto take = [&](shm::BlockHeader& block, std::uint64_t offset) {
    const std::uint64_t place = lane.span.arena_offset + offset;
    if (shm::state_of(block) != shm::BlockState::published) return;
    if (waiting.count(place) > 0) return;
    if (shm::Form(block.ndims, block.flags).is_append()) return receive_append(keeper, block, place, receive_block);
    if (block.step < 0 || block.step > shm::kHighestStep) return;
    if (finished_.contains(block.step)) return shm::set_state(block, shm::BlockState::released);
    shm::Message message = {};
    message.kind = shm::MessageKind::write;
    message.step = block.step;
    message.block_offset = place;
    Member* member = region_.pool() == nullptr ? &keeper : roster_.find(block.source);
    if (member == nullptr) return;  // no such client: the block stays, and counts as left over
    member->last_step = std::max(member->last_step, message.step);
    if (drop_spilled_copy(*member, lane, message)) return;
    receive_block(*member, lane, message);
  };
  if (region_.walk_blocks(lane.index, take)) return;
  lost_sentence_ =
      format("the arena of client {} is damaged: the blocks behind the damage are lost, and may belong to this step", keeper.id);
}

}  // namespace damaris::server
