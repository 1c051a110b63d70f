#include "step_collector.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace damaris::hdf5 {

StepCollector::StepCollector(int servers) : last_(static_cast<std::size_t>(servers), std::numeric_limits<std::int64_t>::min()) {}

void StepCollector::add(int server, StepRecord&& record) {
  pass(server, record.step);
  const auto found = open_.find(record.step);
  if (found == open_.end())
    open_.emplace(record.step, std::move(record));
  else
    merge(found->second, std::move(record));
}

void StepCollector::pass(int server, std::int64_t step) {
  std::int64_t& last = last_.at(static_cast<std::size_t>(server));
  last = std::max(last, step);
}

bool StepCollector::has_told_all(int server) const {
  return last_.at(static_cast<std::size_t>(server)) == std::numeric_limits<std::int64_t>::max();
}

// Who has passed a step has told of it too: that there is nothing. A collector of one knows only its own number.
std::vector<StepRecord> StepCollector::ready() {
  const std::int64_t passed = *std::min_element(last_.begin(), last_.end());
  std::vector<StepRecord> steps;
  while (!open_.empty() && open_.begin()->first <= passed) {
    StepRecord& record = steps.emplace_back(std::move(open_.begin()->second));
    open_.erase(open_.begin());
    if (last_.size() == 1) continue;
    record.servers.resize(last_.size());
    std::iota(record.servers.begin(), record.servers.end(), 0);
  }
  return steps;
}

std::vector<StepRecord> StepCollector::rest() {
  std::vector<StepRecord> steps;
  for (auto& [step, record] : open_) {
    record.complete = false;
    steps.push_back(std::move(record));
  }
  open_.clear();
  return steps;
}

}  // namespace damaris::hdf5
