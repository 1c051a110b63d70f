#include "agreement.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "../file/handle.hpp"

namespace damaris::hdf5 {

Group group_of(const dc_host_t& host, const Settings& settings) {
  if (settings.files == Files::single) return {0, host.server_count};
  if (settings.files == Files::per_server) return {host.server_index, 1};
  const int first = host.server_index / settings.group_size * settings.group_size;
  return {first, std::min(settings.group_size, host.server_count - first)};
}

std::string name_part(const dc_host_t& host, const Settings& settings) {
  if (settings.files == Files::single) return "";
  if (settings.files == Files::per_group) return ".g" + std::to_string(host.server_index / settings.group_size);
  return std::string(".") + host.host_name + ".s" + std::to_string(host.server_index);
}

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
constexpr char kLate[] = "late:";

}  // namespace

Agreement::Agreement(const dc_host_t& host, const Group& group, std::int64_t timeout_ms, Attend attend)
    : host_(host), group_(group), timeout_(timeout_ms), attend_(std::move(attend)), ready_(kNever), started_(kNever) {
  for (int server = group.first; server < group.first + group.size; ++server) reached_[server] = kNever;
}

void Agreement::send(int server, const std::string& what, std::int64_t step) const {
  const std::string text = kMessages + what + " " + std::to_string(step);
  if (host_.send(host_.self, server, text.data(), text.size()) == DC_OK) return;
  const std::string line =
      "hdf5: server " + std::to_string(server) + " cannot be sent the message '" + text + "', and will wait until its time-out";
  host_.log(host_.self, 0, line.c_str());
}

bool Agreement::may_write(const dc_step_t& step, Instant now) {
  if (ready_ != step.step) {
    ready_ = step.step;
    ready_since_ = now;
    send(group_.leader(), std::exchange(is_repeated_, false) ? "again" : "ready", ready_);
  }
  if (started_ != ready_ && abandoned_.count(ready_) == 0) check_timeout(now);
  return started_ == ready_ || abandoned_.count(ready_) > 0;
}

void Agreement::begin(std::int64_t step) {
  if (const auto found = abandoned_.find(step); found != abandoned_.end()) throw Failure(found->second, kNoRemedy);
}

// The leader knows which servers are late, and sends their names to all. The others wait a little longer for its message, as it may be late
// itself.
void Agreement::check_timeout(Instant now) {
  const bool leads = host_.server_index == group_.leader();
  if (now - ready_since_ <= (leads ? timeout_ : timeout_ + timeout_ / 2)) return;
  if (!leads) {
    abandoned_[ready_] = "server " + std::to_string(group_.leader()) + ", which leads the group, did not start the write within " +
                         std::to_string(timeout_.count()) + " ms, the turn-timeout";
    return;
  }
  for (const auto& [server, reached] : reached_) send(server, kLate + late_servers(), ready_);
}

std::string Agreement::late_servers() const {
  std::string late;
  const auto repeated = again_.find(ready_);
  const auto is_late = [&](int server, std::int64_t reached) {
    if (repeated == again_.end()) return reached < ready_;
    return have_data_.at(ready_).count(server) > 0 && repeated->second.count(server) == 0;
  };
  for (const auto& [server, reached] : reached_)
    if (is_late(server, reached)) late += (late.empty() ? "" : ",") + std::to_string(server);
  return late;
}

void Agreement::again(std::int64_t step) {
  if (step != ready_) return;
  ready_ = started_ = kNever;
  is_repeated_ = true;
}

void Agreement::passed(std::int64_t step) { send(group_.leader(), "passed", step); }

void Agreement::receive(int from, const std::string& message) {
  const std::size_t space = message.rfind(' ');
  const std::string what = message.substr(std::string(kMessages).size(), space - std::string(kMessages).size());
  const std::int64_t step = std::stoll(message.substr(space));
  if (what == "go") return go(step);
  if (what.rfind(kLate, 0) == 0)
    return void(abandoned_[step] = "server " + what.substr(sizeof kLate - 1) + " did not reach it within " +
                                   std::to_string(timeout_.count()) + " ms, the turn-timeout");
  std::int64_t& reached = reached_[from];
  reached = std::max(reached, step);
  if (what == "ready") have_data_[step].insert(from);
  if (what == "again") again_[step].insert(from);
  if (what == "ready" || (what == "again" && again_[step] == have_data_[step])) wanted_.insert(step);
  start_ready_steps();
}

// This server takes part even in a step that it has abandoned, to refuse it: a step is stored by all servers or by none.
void Agreement::go(std::int64_t step) {
  started_ = step;
  if (const auto found = abandoned_.find(step); found != abandoned_.end())
    attend_(step, found->second);
  else if (step != ready_)
    attend_(step, "");
}

void Agreement::start_ready_steps() {
  const auto before = [](const auto& a, const auto& b) { return a.second < b.second; };
  const std::int64_t all = std::min_element(reached_.begin(), reached_.end(), before)->second;
  while (!wanted_.empty() && *wanted_.begin() <= all) {
    const std::int64_t step = *wanted_.begin();
    wanted_.erase(wanted_.begin());
    again_.erase(again_.begin(), again_.upper_bound(step));
    have_data_.erase(have_data_.begin(), have_data_.lower_bound(step));
    if (abandoned_.count(step) > 0) continue;  // all servers have abandoned it
    for (const auto& [server, reached] : reached_) send(server, "go", step);
  }
}

}  // namespace damaris::hdf5
