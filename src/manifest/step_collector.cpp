#include "step_collector.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "encoded_files.hpp"

namespace damaris::manifest {
StepEntry whole(const DueStep& due) {
  StepEntry step = due.step;
  step.described.clear();
  step.total = {};
  for (const ServerFiles& files : due.files)
    add_files(step.files, with_values(files_from_facts(files.facts), files.values), LineOrigin::another_server);
  return step;
}

StepCollector::StepCollector(int servers)
    : last_(static_cast<std::size_t>(servers), std::numeric_limits<std::int64_t>::min()), losses_(last_.size()) {}

void StepCollector::add(int server, ServerReport&& report) {
  std::int64_t& last = last_.at(static_cast<std::size_t>(server));
  const std::int64_t step = report.step.step;
  std::vector<ServerFiles> room;
  auto found = open_.find(step);
  const bool is_new = found == open_.end();
  if (is_new) room.reserve(1);
  if (is_new) found = open_.try_emplace(step).first;
  auto& [known, files] = found->second;
  if (is_new) files = std::move(room);
  if (files.size() == files.capacity()) files.reserve(2 * files.size());
  if (is_new)
    known = std::move(report.step);
  else
    merge(known, std::move(report.step));
  last = std::max(last, step);
  manifest::add(known.total, report.files.total);
  if (!report.files.values.empty()) files.push_back(std::move(report.files));
}

void StepCollector::pass(int server, std::int64_t step, Losses losses) {
  std::int64_t& last = last_.at(static_cast<std::size_t>(server));
  last = std::max(last, step);
  losses_.at(static_cast<std::size_t>(server)) = std::move(losses);
}

bool StepCollector::is_finished(int server) const {
  return last_.at(static_cast<std::size_t>(server)) == std::numeric_limits<std::int64_t>::max();
}

bool StepCollector::has_all_from_others() const {
  for (std::size_t server = 1; server < losses_.size(); ++server)
    if (!is_finished(static_cast<int>(server)) || !losses_[server].last_steps.empty() || losses_[server].never_attached > 0)
      return false;
  return true;
}

// To pass a step is to report it as empty, except for lost clients.
void StepCollector::add_passed_servers(StepEntry& record) const {
  if (last_.size() == 1) return;  // a single server is always 0 here, whatever its index
  std::vector<int> servers;
  for (int server = 0; server < static_cast<int>(last_.size()); ++server) {
    const bool reported = std::binary_search(record.servers.begin(), record.servers.end(), server);
    const auto index = static_cast<std::size_t>(server);
    if (!reported && last_[index] < record.step) continue;
    if (!reported) losses_[index].add_to(record);
    servers.push_back(server);
  }
  record.servers = std::move(servers);
}

void StepCollector::move_first(std::deque<DueStep>& lines) {
  DueStep& first = open_.begin()->second;
  add_passed_servers(first.step);
  std::sort(first.files.begin(), first.files.end(), [](const ServerFiles& a, const ServerFiles& b) { return a.server < b.server; });
  lines.emplace_back();
  lines.back() = std::move(first);
  open_.erase(open_.begin());
}

void StepCollector::move_ready(std::deque<DueStep>& lines) {
  const std::int64_t passed = *std::min_element(last_.begin(), last_.end());
  while (!open_.empty() && open_.begin()->first <= passed) move_first(lines);
}

void StepCollector::move_rest(std::deque<DueStep>& lines) {
  while (!open_.empty()) {
    open_.begin()->second.step.complete = false;
    move_first(lines);
  }
}

}  // namespace damaris::manifest
