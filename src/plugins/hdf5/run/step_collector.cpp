#include "step_collector.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace damaris::hdf5 {

StepCollector::StepCollector(int servers) : last_(static_cast<std::size_t>(servers), std::numeric_limits<std::int64_t>::min()) {}

void StepCollector::add(int server, StepRecord&& record) {
  std::int64_t& last = last_.at(static_cast<std::size_t>(server));
  last = std::max(last, record.step);
  const auto found = open_.find(record.step);
  if (found == open_.end())
    open_.emplace(record.step, std::move(record));
  else
    merge(found->second, std::move(record));
}

std::vector<StepRecord> StepCollector::ready() {
  const std::int64_t passed = *std::min_element(last_.begin(), last_.end());
  std::vector<StepRecord> steps;
  while (!open_.empty() && open_.begin()->first <= passed) {
    steps.push_back(std::move(open_.begin()->second));
    open_.erase(open_.begin());
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
