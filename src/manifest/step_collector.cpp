#include "step_collector.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace damaris::manifest {

StepCollector::StepCollector(int servers)
    : last_(static_cast<std::size_t>(servers), std::numeric_limits<std::int64_t>::min()), losses_(last_.size()) {}

void StepCollector::add(int server, StepEntry&& record) {
  std::int64_t& last = last_.at(static_cast<std::size_t>(server));
  last = std::max(last, record.step);
  const auto found = open_.find(record.step);
  if (found == open_.end())
    open_.emplace(record.step, std::move(record));
  else
    merge(found->second, std::move(record));
}

void StepCollector::pass(int server, std::int64_t step, Losses losses) {
  std::int64_t& last = last_.at(static_cast<std::size_t>(server));
  last = std::max(last, step);
  losses_.at(static_cast<std::size_t>(server)) = std::move(losses);
}

bool StepCollector::is_finished(int server) const {
  return last_.at(static_cast<std::size_t>(server)) == std::numeric_limits<std::int64_t>::max();
}

// To pass a step is to report it as empty, except for lost clients.
void StepCollector::add_passed_servers(StepEntry& record) const {
  if (last_.size() == 1) return;  // a single server is always 0 here, whatever its index
  std::vector<int> servers;
  for (int server = 0; server < static_cast<int>(last_.size()); ++server) {
    const bool reported = std::find(record.servers.begin(), record.servers.end(), server) != record.servers.end();
    const auto index = static_cast<std::size_t>(server);
    if (!reported && last_[index] < record.step) continue;
    if (!reported) losses_[index].add_to(record);
    servers.push_back(server);
  }
  record.servers = std::move(servers);
}

void StepCollector::move_first(std::deque<StepEntry>& lines) {
  const auto first = open_.begin();
  add_passed_servers(first->second);
  lines.push_back(std::move(first->second));
  open_.erase(first);
}

void StepCollector::move_ready(std::deque<StepEntry>& lines) {
  const std::int64_t passed = *std::min_element(last_.begin(), last_.end());
  while (!open_.empty() && open_.begin()->first <= passed) move_first(lines);
}

void StepCollector::move_rest(std::deque<StepEntry>& lines) {
  while (!open_.empty()) {
    open_.begin()->second.complete = false;
    move_first(lines);
  }
}

}  // namespace damaris::manifest
