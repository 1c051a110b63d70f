#include "server/ledger.hpp"

#include <algorithm>

#include "core/base/format.hpp"

namespace damaris::server {

bool Iteration::add(const dc_dataset_t& dataset, const HeldBlock& block) {
  if (!keys_.emplace(dataset.variable->id, dataset.source, dataset.block).second) return false;
  datasets_.push_back(dataset);
  blocks_.push_back(block);
  sources_.insert(dataset.source);
  sorted_ = false;
  return true;
}

dc_iteration_t Iteration::view(std::size_t client_count) {
  const auto key = [](const dc_dataset_t& d) { return std::make_tuple(d.variable->id, d.source, d.block); };
  if (!sorted_) std::sort(datasets_.begin(), datasets_.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  sorted_ = true;
  dc_iteration_t view = {};
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
  return view;
}

Iteration& Ledger::open(std::int64_t step) { return iterations_.try_emplace(step, step).first->second; }

Iteration* Ledger::find(std::int64_t step) {
  const auto found = iterations_.find(step);
  return found == iterations_.end() ? nullptr : &found->second;
}

std::string Ledger::add(const dc_dataset_t& dataset, const HeldBlock& block) {
  if (open(dataset.step).add(dataset, block)) {
    live_[block.lane].insert(block.offset);
    return "";
  }
  release(block);
  return format("'{}' block {} of client {} came twice in step {}; the first one counts", dataset.variable->path, dataset.block,
                dataset.source, dataset.step);
}

std::size_t Ledger::note_complete(std::int64_t frontier) {
  std::size_t waiting = 0;
  for (auto& [step, iteration] : iterations_) {
    if (step > frontier) break;
    if (!iteration.complete_since) iteration.complete_since = Clock::now();
    if (!iteration.processed) ++waiting;
  }
  return waiting;
}

Iteration* Ledger::next_unprocessed() {
  for (auto& [step, iteration] : iterations_)
    if (!iteration.processed) return &iteration;
  return nullptr;
}

bool Ledger::try_release(std::int64_t step) {
  const auto found = iterations_.find(step);
  if (found == iterations_.end() || !found->second.processed || found->second.pending_globals > 0) return false;
  for (const HeldBlock& block : found->second.blocks()) release(block);
  iterations_.erase(found);
  return true;
}

// The client's next sweep finds the state; `released` tells it that a sweep is worth while, or that nothing is held any more.
void Ledger::release(const HeldBlock& block) {
  live_[block.lane].erase(block.offset);
  auto* header = reinterpret_cast<shm::BlockHeader*>(region_.at(block.offset));
  header->state.store(static_cast<std::uint32_t>(shm::BlockState::released), std::memory_order_release);
  region_.lane(block.lane)->released.fetch_add(block.size_bytes, std::memory_order_release);
}

}  // namespace damaris::server
