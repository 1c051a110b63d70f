#include "delivery.hpp"

#include <algorithm>

namespace damaris::manifest {

void Delivery::note(const StepEntry& step) {
  if (!gaps_.empty() && gaps_.back().second == kOpen) gaps_.back().second = step.step;
  if (step.missing.empty() && step.never_attached == 0) whole_until_ = std::max(whole_until_, step.step);
}

void Delivery::note_end(const Losses& losses, bool recovered) {
  ended_ = true;
  recovered_ = recovered;
  losses_ = losses;
}

std::int64_t Delivery::delivered_until() const {
  if (!ended_ || losses_.never_attached > 0) return whole_until_;
  std::int64_t last = kOpen;
  for (const auto& [client, its_last] : losses_.last_steps) last = std::min(last, its_last);
  return std::max(whole_until_, last);
}

// One that had ended without losses has missed nothing.
void Delivery::interrupt() {
  const std::int64_t delivered = delivered_until();
  const bool has_open_gap = !gaps_.empty() && gaps_.back().second == kOpen;
  if (delivered != kOpen && !has_open_gap) gaps_.emplace_back(delivered, kOpen);
  ended_ = recovered_ = false;
}

bool Delivery::is_in_gap(std::int64_t step) const {
  return std::any_of(gaps_.begin(), gaps_.end(), [&](const auto& gap) { return gap.first < step && step < gap.second; });
}

namespace {

constexpr std::size_t kMaxFlaws = 100;  // a damaged manifest may have millions

std::string list(const std::vector<std::int32_t>& numbers) {
  std::string text;
  for (const std::int32_t one : numbers) text += (text.empty() ? "" : ", ") + std::to_string(one);
  return text;
}

// At most kMaxFlaws sentences; `what` ends the one that counts the others.
template <class Sentence>
void add_some(std::vector<std::string>& flaws, const std::vector<std::string>& all, const std::string& what, Sentence&& sentence) {
  for (std::size_t i = 0; i < std::min(all.size(), kMaxFlaws); ++i) flaws.push_back(sentence(all[i]));
  if (all.size() > kMaxFlaws) flaws.push_back("and " + std::to_string(all.size() - kMaxFlaws) + what);
}

}  // namespace

std::vector<std::string> flaws_of(const StepEntry& step, const StepEntry& judged) {
  std::vector<std::string> flaws;
  add_some(flaws, step.failures, " more failures", [](const std::string& failure) { return failure; });
  if (!judged.missing.empty()) flaws.push_back("clients that never ended it: " + list(judged.missing));
  if (judged.never_attached > 0) flaws.push_back("clients that never attached: " + std::to_string(judged.never_attached));
  const std::string refused = step.dropped ? " dropped for lack of room" : " skipped for lack of room";
  add_some(flaws, step.skipped, " more variables were" + refused,
           [&](const std::string& variable) { return "'" + variable + "' was" + refused; });
  return flaws;
}

}  // namespace damaris::manifest
