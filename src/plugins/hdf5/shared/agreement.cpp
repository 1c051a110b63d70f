#include "agreement.hpp"

#include <algorithm>
#include <limits>

namespace damaris::hdf5 {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

}  // namespace

Agreement::Agreement(const dc_host_t& host, const Group& group, Attend attend)
    : host_(host), group_(group), attend_(std::move(attend)), mine_(kNever), going_(kNever) {
  for (int server = group.first; server < group.first + group.size; ++server) reached_[server] = kNever;
}

void Agreement::tell(int server, const std::string& what, std::int64_t step) const {
  const std::string text = kMessages + what + " " + std::to_string(step);
  host_.send(host_.self, server, text.data(), text.size());
}

bool Agreement::may_write(const dc_iteration_t& iteration, Instant) {
  if (mine_ != iteration.step) {
    mine_ = iteration.step;
    tell(group_.leader(), "ready", mine_);
  }
  return going_ == mine_;
}

void Agreement::passed(std::int64_t step) { tell(group_.leader(), "passed", step); }

void Agreement::take(int from, const std::string& message) {
  const std::size_t space = message.rfind(' ');
  const std::string what = message.substr(std::string(kMessages).size(), space - std::string(kMessages).size());
  const std::int64_t step = std::stoll(message.substr(space));
  if (what == "go") {
    going_ = step;
    if (step != mine_) attend_(step);
    return;
  }
  std::int64_t& reached = reached_[from];
  reached = std::max(reached, step);
  if (what == "ready") wanted_.insert(step);
  let_go();
}

void Agreement::let_go() {
  const auto before = [](const auto& a, const auto& b) { return a.second < b.second; };
  const std::int64_t all = std::min_element(reached_.begin(), reached_.end(), before)->second;
  while (!wanted_.empty() && *wanted_.begin() <= all) {
    const std::int64_t step = *wanted_.begin();
    wanted_.erase(wanted_.begin());
    for (const auto& [server, reached] : reached_) tell(server, "go", step);
  }
}

}  // namespace damaris::hdf5
