#include "delivery.hpp"

#include <algorithm>

#include "core/base/json.hpp"

namespace damaris::manifest {

void Losses::add_to(StepEntry& record) const {
  const std::uint64_t before = record.missing.size() + record.never_attached;
  for (const auto& [client, last] : last_steps)
    if (last < record.step) record.missing.push_back(client);
  std::sort(record.missing.begin(), record.missing.end());
  record.missing.erase(std::unique(record.missing.begin(), record.missing.end()), record.missing.end());
  record.never_attached += never_attached;
  if (record.missing.size() + record.never_attached > before) record.complete = false;
}

Losses losses_of(const dc_host_t& host) {
  Losses losses;
  for (std::size_t i = 0; i < host.lost_count; ++i) losses.last_steps[host.lost[i].client] = host.lost[i].last_step;
  losses.never_attached = host.never_attached;
  return losses;
}

Json to_json(const Losses& losses) {
  Json json = Json::object();
  for (const auto& [client, last] : losses.last_steps) json["lost"].push_back({client, last});
  if (losses.never_attached > 0) json["never_attached"] = losses.never_attached;
  return json;
}

Losses losses_from(const Json& json) {
  Losses losses;
  if (const auto lost = json.find("lost"); lost != json.end())
    for (const Json& one : *lost) {
      std::int32_t client = 0;
      read_value(one.at(0), client);
      read_value(one.at(1), losses.last_steps[client]);
    }
  if (const auto count = json.find("never_attached"); count != json.end()) read_value(*count, losses.never_attached);
  return losses;
}

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
