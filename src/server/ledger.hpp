// The iteration ledger: the server's own record of every dataset it holds, and of when a block may be released.
// Used by: the server's dispatch thread only; nothing in it is read from shared memory twice.
// Before it: a write event and its checked block header. After it: plugins see views; releases go back to the arenas.
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

namespace damaris::server {

// Where a dataset lies; enough to release it without trusting the header again.
struct HeldBlock {
  std::uint32_t lane = 0;
  std::uint64_t offset = 0;  // of the header in the region
  std::uint64_t size_bytes = 0;
};

class Iteration {
 public:
  explicit Iteration(std::int64_t step) : step_(step) {}
  std::int64_t step() const noexcept { return step_; }

  // Returns false, nothing changed, when (variable, source, block) is already there.
  bool add(const dc_dataset_t& dataset, const HeldBlock& block);
  bool has_source(std::int32_t source) const { return sources_.count(source) != 0; }
  void set_time(double time) noexcept { has_time_ = true, time_ = time; }

  // Valid until the next add; no block is added once the step is complete. Datasets ordered by variable, source, block.
  dc_iteration_t view(std::size_t client_count);

  std::vector<std::int32_t> absent, missing;        // filled when the step completes
  std::optional<Clock::time_point> complete_since;  // every client has ended it
  bool begun = false;                               // plugins have begun with it
  bool processed = false;                           // plugins have seen it; only pending global instances keep its blocks
  int pending_globals = 0;                          // holds, beside the one of the open iteration
  const std::vector<HeldBlock>& blocks() const noexcept { return blocks_; }
  std::size_t dataset_count() const noexcept { return datasets_.size(); }

 private:
  std::int64_t step_;
  bool has_time_ = false;
  double time_ = 0;
  bool sorted_ = true;
  std::vector<dc_dataset_t> datasets_;
  std::vector<HeldBlock> blocks_;
  std::set<std::tuple<std::uint32_t, std::int32_t, std::int32_t>> keys_;
  std::set<std::int32_t> sources_;
};

class Ledger {
 public:
  explicit Ledger(shm::Region& region) : region_(region), live_(region.client_count() * region.threads()) {}

  // The record of `step`, made when it is new.
  Iteration& open(std::int64_t step);
  Iteration* find(std::int64_t step);
  // Records a dataset. Returns "" or why it was refused; a refused block is released at once.
  std::string add(const dc_dataset_t& dataset, const HeldBlock& block);
  // Notes that all steps up to `frontier` are complete. Returns how many of them wait to be processed.
  std::size_t note_complete(std::int64_t frontier);
  // The lowest step that is not processed, or nullptr.
  Iteration* next_unprocessed();
  // Gives all blocks of a processed iteration without pending holds back to their arenas and forgets it. Returns whether it did.
  bool try_release(std::int64_t step);
  // Forgets a processed iteration, whose blocks stay as they are in the region.
  void leave(std::int64_t step) { iterations_.erase(step); }
  bool empty() const noexcept { return iterations_.empty(); }
  bool live(const HeldBlock& block) const { return live_[block.lane].count(block.offset) != 0; }
  // A block that belongs to no iteration: in hand until it is released.
  void hold(const HeldBlock& block) { live_[block.lane].insert(block.offset); }
  void release(const HeldBlock& block);

 private:
  shm::Region& region_;
  std::map<std::int64_t, Iteration> iterations_;
  std::vector<std::unordered_set<std::uint64_t>> live_;  // by lane: offsets of blocks in hand; none may be published twice
};

}  // namespace damaris::server
