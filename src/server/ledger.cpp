#include "server/ledger.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/base/format.hpp"
#include "core/shm/arena.hpp"
#include "core/shm/block.hpp"

namespace damaris::server {

std::string Step::add(const dc_dataset_t& dataset, const HeldBlock& block) {
  if (!keys_.emplace(dataset.variable->id, dataset.source, dataset.block).second)
    return format("'{}' block {} of client {} came twice in step {}; the first one counts", dataset.variable->path, dataset.block,
                  dataset.source, dataset.step);
  sources_.insert(dataset.source);
  blocks_.push_back(block);
  blocks_.back().arrival = datasets_.size();
  datasets_.push_back(dataset);
  sorted_ = false;
  return "";
}

bool Step::has(const dc_dataset_t& dataset) const {
  return keys_.count({dataset.variable->id, dataset.source, dataset.block}) != 0;
}

namespace {

// Whether a block is a copy of another one: the same shape, place and bytes.
bool is_copy(const dc_dataset_t& one, const dc_dataset_t& other) {
  const int ndims = one.variable->ndims;
  const auto same = [&](const std::int64_t* a, const std::int64_t* b) { return std::equal(a, a + ndims, b); };
  return same(one.extents, other.extents) && same(one.ghost_low, other.ghost_low) && same(one.ghost_high, other.ghost_high) &&
         one.has_position == other.has_position && (one.has_position == 0 || same(one.position, other.position)) &&
         (one.variable->has_global == 0 || same(one.global, other.global)) && one.bytes == other.bytes &&
         std::memcmp(one.data, other.data, one.bytes) == 0;
}

}  // namespace

bool Step::has_spilled(const dc_dataset_t& dataset) const {
  for (std::size_t i = 0; i < datasets_.size(); ++i) {
    const dc_dataset_t& held = datasets_[i];
    if (held.variable->id == dataset.variable->id && held.source == dataset.source && held.block == dataset.block)
      return blocks_[i].spilled.record != nullptr && is_copy(held, dataset);
  }
  return false;
}

void Step::record_loss(std::string sentence) {
  constexpr std::size_t kMostSentences = 20;  // a faulty client may send any number of invalid blocks
  if (lost_sentences_.size() < kMostSentences) lost_sentences_.push_back(std::move(sentence));
  ++lost_;
  lost_texts_are_current_ = false;
}

void Step::update_lost_texts() {
  if (lost_texts_are_current_) return;  // a plugin may have the pointers
  lost_texts_.clear();
  for (const std::string& sentence : lost_sentences_) lost_texts_.push_back(sentence.c_str());
  if (lost_ != lost_sentences_.size()) {
    lost_summary_ = format("{} datasets of this step were refused in all", lost_);
    lost_texts_.push_back(lost_summary_.c_str());
  }
  lost_texts_are_current_ = true;
}

void Step::omit(std::uint32_t variable, bool drops) {
  dropped_ |= drops;
  const auto place = std::lower_bound(omitted_.begin(), omitted_.end(), variable);
  if (place == omitted_.end() || *place != variable) omitted_.insert(place, variable);
}

void Step::sort() {
  if (sorted_) return;
  const auto key = [](const dc_dataset_t& d) { return std::make_tuple(d.variable->id, d.source, d.block); };
  std::vector<std::size_t> order(datasets_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(datasets_[a]) < key(datasets_[b]); });
  std::vector<dc_dataset_t> datasets;
  std::vector<HeldBlock> blocks;
  for (const std::size_t index : order) {
    datasets.push_back(datasets_[index]);
    blocks.push_back(blocks_[index]);
  }
  datasets_.swap(datasets);
  blocks_.swap(blocks);
  sorted_ = true;
}

dc_step_t Step::view(std::size_t client_count) {
  sort();
  update_lost_texts();
  dc_step_t view = {};
  view.step = step_;
  view.has_time = has_time_ ? 1 : 0;
  view.time = time_;
  view.dataset_count = datasets_.size();
  view.datasets = datasets_.data();
  view.client_count = client_count;
  view.absent_count = absent.size();
  view.absent = absent.data();
  view.missing_count = missing.size();
  view.missing = missing.data();
  view.never_attached = never_attached;
  view.skipped_count = omitted_.size();
  view.skipped = omitted_.data();
  view.dropped = dropped_ ? 1 : 0;
  view.reduced = reduced_ ? 1 : 0;
  view.waits = waits_;
  view.spilled_bytes = spilled_bytes_;
  view.refused_count = lost_texts_.size();
  view.refused = lost_texts_.data();
  return view;
}

StepSnapshot Step::show(std::size_t client_count, std::size_t count) {
  const dc_step_t all = view(client_count);
  std::vector<dc_dataset_t> datasets;
  for (std::size_t i = 0; i < datasets_.size(); ++i)
    if (blocks_[i].arrival < count) datasets.push_back(datasets_[i]);
  StepSnapshot copy = {all, std::move(datasets)};
  for (HeldBlock& block : blocks_) block.in_snapshot |= block.arrival < count;
  return copy;
}

void Step::release_snapshot() {
  for (HeldBlock& block : blocks_) block.in_snapshot = false;
}

void Step::reduce_harder(const std::vector<dc_variable_info_t>& infos) {
  for (dc_dataset_t& dataset : datasets_) {
    const dc_variable_info_t& harder = infos[dataset.variable->id];
    reduced_ |= harder.reduce != dataset.variable->reduce;
    dataset.variable = &harder;
  }
}

template <class Matches>
std::optional<std::size_t> Step::find_block(Matches&& matches) const {
  const auto may_move = [&](const HeldBlock& block) {
    return block.spilled.record == nullptr && !block.in_snapshot && matches(block);
  };
  const auto found = std::find_if(blocks_.begin(), blocks_.end(), may_move);
  if (found == blocks_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - blocks_.begin());
}

std::optional<std::size_t> Step::find_block_of(std::uint32_t arena) const {
  return find_block([&](const HeldBlock& block) { return block.arena == arena; });
}

std::optional<std::size_t> Step::find_block_at(std::uint64_t offset) const {
  return find_block([&](const HeldBlock& block) { return block.offset == offset; });
}

void Step::move_to(std::size_t index, const SpilledBlock& place) {
  datasets_[index].data = place.data();
  datasets_[index].has_checksum = 1;
  datasets_[index].checksum = place.checksum;
  blocks_[index].spilled = place;
  spilled_bytes_ += datasets_[index].bytes;
}

Ledger::Ledger(shm::Region& region, std::uint64_t most_spilled_bytes) : region_(region), spill_(region, most_spilled_bytes) {
  const std::uint32_t lanes = region.client_count() * region.threads();
  held_offsets_.resize(lanes);
  held_bytes_.resize(lanes);
}

void Ledger::hold(const HeldBlock& block) {
  if (block.spilled.record == nullptr && held_offsets_[block.arena].insert(block.offset).second)
    held_bytes_[block.arena] += block.size_bytes;
}

bool Ledger::holds(const dc_dataset_t& dataset) const {
  const auto found = steps_.find(dataset.step);
  return found != steps_.end() && found->second.has(dataset);
}

bool Ledger::holds_spilled(const dc_dataset_t& dataset) const {
  const auto found = steps_.find(dataset.step);
  return found != steps_.end() && found->second.has_spilled(dataset);
}

void Ledger::hold_rejected(std::int64_t step, const HeldBlock& block) {
  hold(block);
  open(step).hold_rejected(block);
}

std::vector<Step*> Ledger::newest_first() {
  std::vector<Step*> all;
  for (auto next = steps_.rbegin(); next != steps_.rend(); ++next) all.push_back(&next->second);
  return all;
}

bool Ledger::spill(Step& step, std::size_t index) {
  const HeldBlock block = step.block(index);
  SpilledBlock place;
  const Spill::Copied copied = spill_.copy(step.dataset(index), place);
  copying_.reset();
  if (copied == Spill::Copied::no_room) return false;
  if (copied == Spill::Copied::unfinished) {
    copying_ = {step.step(), block.offset};
    return true;
  }
  step.move_to(index, place);
  release(block);
  return true;
}

std::optional<std::pair<Step*, std::size_t>> Ledger::copy_in_progress() {
  if (!copying_) return std::nullopt;
  Step* const step = find(copying_->first);
  const auto index = step == nullptr || step->processed ? std::nullopt : step->find_block_at(copying_->second);
  if (index) return std::pair(step, *index);
  cancel_copy();
  return std::nullopt;
}

void Ledger::cancel_copy() noexcept {
  copying_.reset();
  spill_.cancel_copy();
}

Step& Ledger::open(std::int64_t step) {
  highest_step_ = std::max(highest_step_, step);
  return steps_.try_emplace(step, step).first->second;
}

Step* Ledger::find(std::int64_t step) {
  const auto found = steps_.find(step);
  return found == steps_.end() ? nullptr : &found->second;
}

std::string Ledger::add(const dc_dataset_t& dataset, const HeldBlock& block) {
  std::string fault = open(dataset.step).add(dataset, block);
  if (fault.empty()) hold(block);
  return fault;
}

Step* Ledger::next_to_complete(std::int64_t frontier) {
  const auto next = steps_.upper_bound(complete_);
  return next == steps_.end() || next->first > frontier ? nullptr : &next->second;
}

void Ledger::mark_complete(Step& step) noexcept {
  complete_ = step.step();
  step.complete_since = Clock::now();
}

Step* Ledger::next_unprocessed(bool& another) {
  const auto next = steps_.upper_bound(processed_);
  if (next == steps_.end() || next->first > complete_) return nullptr;
  const auto behind = std::next(next);
  another = behind != steps_.end() && behind->first <= complete_;
  return &next->second;
}

bool Ledger::has_unprocessed() const {
  const auto next = steps_.upper_bound(processed_);
  return next != steps_.end() && next->first <= complete_;
}

bool Ledger::has_unprocessed(std::int64_t last, std::size_t count) const {
  if (steps_.size() < count) return false;
  const auto waiting = std::distance(steps_.upper_bound(processed_), steps_.upper_bound(std::max(last, processed_)));
  return static_cast<std::size_t>(waiting) >= count;
}

void Ledger::mark_processed(Step& step) {
  step.processed = true;
  processed_ = step.step();
}

bool Ledger::try_release(std::int64_t step) {
  const auto found = steps_.find(step);
  if (found == steps_.end() || !found->second.processed || found->second.pending_globals > 0) return false;
  for (const HeldBlock& block : found->second.blocks()) release(block);
  for (const HeldBlock& block : found->second.rejected_blocks()) release(block);
  steps_.erase(found);
  return true;
}

void Ledger::forget(const HeldBlock& block) {
  if (held_offsets_[block.arena].erase(block.offset) != 0) held_bytes_[block.arena] -= block.size_bytes;
}

void Ledger::answer(const HeldBlock& block) {
  forget(block);
  auto* header = reinterpret_cast<shm::BlockHeader*>(region_.at(block.offset));
  if (!shm::answer(*header)) release_in_arena(*header, block);
}

void Ledger::release(const HeldBlock& block) {
  if (block.spilled.record != nullptr) return spill_.release(block.spilled);
  forget(block);
  auto* header = reinterpret_cast<shm::BlockHeader*>(region_.at(block.offset));
  release_in_arena(*header, block);
}

void Ledger::release_in_arena(shm::BlockHeader& header, const HeldBlock& block) {
  const shm::LaneSpan& span = region_.span(block.arena);
  shm::release_block(header, block.size_bytes, *region_.lane(block.arena), span.arena_bytes, block.offset - span.arena_offset);
}

}  // namespace damaris::server
