// The step ledger: the server's own record of every dataset it holds, and of when a block may be released.
// Used by: the intake side only; nothing in it is read from shared memory twice.
// Before it: a write message and its validated block header. After it: plugins see views; blocks are released to the arenas.
#pragma once

#include <damaris/plugin.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "core/base/clock.hpp"
#include "core/shm/region.hpp"
#include "server/spill.hpp"

namespace damaris::server {

// A step as an action sees it: its datasets so far, in lists of its own, because the ledger goes on adding to an open step. The intake side
// makes it, the work side reads it and frees it. The data stay where they are: the ledger pins their blocks meanwhile.
class StepSnapshot {
 public:
  StepSnapshot() = default;
  StepSnapshot(const dc_step_t& view, std::vector<dc_dataset_t> datasets)
      : view_(view),
        datasets_(std::move(datasets)),
        absent_(view.absent, view.absent + view.absent_count),
        missing_(view.missing, view.missing + view.missing_count),
        skipped_(view.skipped, view.skipped + view.skipped_count),
        omitted_(view.refused, view.refused + view.refused_count) {}

  // Valid until the copy is moved or destroyed.
  const dc_step_t& view() {
    refused_texts_.clear();
    for (const std::string& sentence : omitted_) refused_texts_.push_back(sentence.c_str());
    view_.datasets = datasets_.data();
    view_.dataset_count = datasets_.size();
    view_.absent = absent_.data();
    view_.missing = missing_.data();
    view_.skipped = skipped_.data();
    view_.refused = refused_texts_.data();
    return view_;
  }

 private:
  dc_step_t view_ = {};
  std::vector<dc_dataset_t> datasets_;
  std::vector<std::int32_t> absent_, missing_;
  std::vector<std::uint32_t> skipped_;
  std::vector<std::string> omitted_;
  std::vector<const char*> refused_texts_;
};

// The location of a dataset; sufficient to release it without trusting the header again.
struct HeldBlock {
  std::uint32_t arena = 0;
  std::uint64_t offset = 0;  // of the header in the region
  std::uint64_t size_bytes = 0;
  SpilledBlock spilled = {};  // with a record: the block is in the spill file, not in the region
  std::size_t arrival = 0;    // how many datasets of the step came before it
  bool in_snapshot = false;   // an action may read it at this moment
};

class Step {
 public:
  explicit Step(std::int64_t step) : step_(step) {}
  std::int64_t step() const noexcept { return step_; }

  // Returns "", or, with nothing changed, that (variable, source, block) is already recorded.
  std::string add(const dc_dataset_t& dataset, const HeldBlock& block);
  bool has_source(std::int32_t source) const { return sources_.count(source) != 0; }
  void set_time(double time) noexcept { has_time_ = true, time_ = time; }
  bool has_time() const noexcept { return has_time_; }

  bool has(const dc_dataset_t& dataset) const;
  // Whether it has a copy in the spill file: the same shape, place and bytes.
  bool has_spilled(const dc_dataset_t& dataset) const;
  // Records that writes of a variable were omitted for lack of room.
  void omit(std::uint32_t variable, bool drops);
  // Records lost data of this step, with a message for the storage. Keeps the first messages, and their total number.
  void record_loss(std::string sentence);
  // A rejected block stays in place until the step is released, so that a recovery finds it too.
  void hold_rejected(const HeldBlock& block) { refused_blocks_.push_back(block); }
  void count_waits(std::uint64_t waits) noexcept { waits_ += waits; }

  // Valid until the next add; no block is added once the step is complete. Datasets ordered by variable, source, block.
  dc_step_t view(std::size_t client_count);
  // For an action: the first `count` datasets that came. Their blocks stay where they are until release_snapshot().
  StepSnapshot show(std::size_t client_count, std::size_t count);
  void release_snapshot();
  // Switches the datasets to `infos`, which contain the stronger reductions.
  void reduce_harder(const std::vector<dc_variable_info_t>& infos);

  // The index of a dataset in that arena that may be moved, if any; the second one: of the dataset at that place, if it still may.
  std::optional<std::size_t> find_block_of(std::uint32_t arena) const;
  std::optional<std::size_t> find_block_at(std::uint64_t offset) const;
  const HeldBlock& block(std::size_t index) const { return blocks_[index]; }
  const dc_dataset_t& dataset(std::size_t index) const { return datasets_[index]; }
  void move_to(std::size_t index, const SpilledBlock& place);

  std::vector<std::int32_t> absent, missing;        // filled when the step completes
  std::size_t never_attached = 0;                   // clients
  std::optional<Clock::time_point> complete_since;  // when every client had ended it
  bool processed = false;                           // plugins are done; only pending global instances hold its blocks
  int pending_globals = 0;                          // pending global instances, which hold its blocks
  const std::vector<HeldBlock>& blocks() const noexcept { return blocks_; }
  const std::vector<HeldBlock>& rejected_blocks() const noexcept { return refused_blocks_; }
  std::size_t dataset_count() const noexcept { return datasets_.size(); }

 private:
  template <class Matches>
  std::optional<std::size_t> find_block(Matches&& matches) const;
  void sort();
  void update_lost_texts();

  std::int64_t step_;
  bool has_time_ = false;
  double time_ = 0;
  bool sorted_ = true;
  bool dropped_ = false, reduced_ = false;
  std::uint64_t waits_ = 0, spilled_bytes_ = 0;
  std::vector<std::uint32_t> omitted_;  // variables, ascending
  std::uint64_t lost_ = 0;
  std::vector<std::string> lost_sentences_;
  std::string lost_summary_;
  bool lost_texts_are_current_ = true;
  std::vector<const char*> lost_texts_;  // pointers to the messages, for the view
  std::vector<HeldBlock> refused_blocks_;
  std::vector<dc_dataset_t> datasets_;
  std::vector<HeldBlock> blocks_;  // parallel to datasets_
  std::set<std::tuple<std::uint32_t, std::int32_t, std::int32_t>> keys_;
  std::set<std::int32_t> sources_;
};

class Ledger {
 public:
  Ledger(shm::Region& region, std::uint64_t most_spilled_bytes);

  // The record of `step`, created if necessary.
  Step& open(std::int64_t step);
  // The highest step ever opened, or kNoStep.
  std::int64_t highest_step() const noexcept { return highest_step_; }
  Step* find(std::int64_t step);
  // Records a dataset. Returns "" or why it was rejected.
  std::string add(const dc_dataset_t& dataset, const HeldBlock& block);
  // The lowest step up to `frontier` that is not complete yet, or nullptr.
  Step* next_to_complete(std::int64_t frontier);
  void mark_complete(Step& step) noexcept;
  // The lowest complete step that is not processed, or nullptr; `another` is set if at least one more is complete.
  Step* next_unprocessed(bool& another);
  bool has_unprocessed() const;
  // True if at least `count` steps up to `last` wait for the plugins, complete or not.
  bool has_unprocessed(std::int64_t last, std::size_t count) const;
  void mark_processed(Step& step);
  // Releases all blocks of a processed step without pending global instances and removes its record. Returns whether it did.
  bool try_release(std::int64_t step);
  // Removes the record of a processed step without releasing its blocks.
  void drop(std::int64_t step) { steps_.erase(step); }
  bool holds(const dc_dataset_t& dataset) const;
  // Whether it holds a copy of it in the spill file.
  bool holds_spilled(const dc_dataset_t& dataset) const;
  // Holds a rejected block until its step is released.
  void hold_rejected(std::int64_t step, const HeldBlock& block);

  std::uint64_t held_bytes(std::uint32_t arena) const { return held_bytes_[arena]; }
  std::vector<Step*> newest_first();
  // Copies a dataset to the spill file, some MiB a call, and releases its block when it is whole there. Returns false if the file has no
  // room; the block is as before then.
  bool spill(Step& step, std::size_t index);
  // The step and block that spill() is to go on with; none while no copy is in progress. Drops a copy whose block is needed no more.
  std::optional<std::pair<Step*, std::size_t>> copy_in_progress();
  void cancel_copy() noexcept;
  Spill& spill_file() noexcept { return spill_; }
  bool empty() const noexcept { return steps_.empty(); }
  bool is_held(const HeldBlock& block) const { return held_offsets_[block.arena].count(block.offset) != 0; }
  // Holds a block of the region until it is released or answered; nothing to do for a spilled one.
  void hold(const HeldBlock& block);
  void release(const HeldBlock& block);
  // Ends the hold of a requested block and marks it as answered: its client releases it after reading.
  void answer(const HeldBlock& block);

 private:
  void forget(const HeldBlock& block);
  void release_in_arena(shm::BlockHeader& header, const HeldBlock& block);

  shm::Region& region_;
  std::map<std::int64_t, Step> steps_;
  std::int64_t highest_step_ = shm::kNoStep;
  std::int64_t complete_ = shm::kNoStep,
               processed_ = shm::kNoStep;  // the highest steps that are; a lane never goes back behind them
  Spill spill_;
  std::optional<std::pair<std::int64_t, std::uint64_t>> copying_;  // step and offset of the block that is partly in the spill file
  std::vector<std::unordered_set<std::uint64_t>> held_offsets_;    // by arena: offsets of held blocks; none may be published twice
  std::vector<std::uint64_t> held_bytes_;                          // by arena
};

}  // namespace damaris::server
