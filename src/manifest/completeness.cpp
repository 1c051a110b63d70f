#include "completeness.hpp"

#include <algorithm>
#include <utility>

namespace damaris::manifest {
namespace {

template <class Items>
std::string list(const Items& items) {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += ", ";
    if constexpr (std::is_same_v<std::decay_t<decltype(item)>, std::string>)
      text += item;
    else
      text += std::to_string(item);
  }
  return text;
}

constexpr std::size_t kMaxNamed = 20;  // servers in a message: a run may have thousands, a damaged manifest any number

constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max();  // the end of a gap whose last step is not known yet

constexpr std::size_t kMaxFlaws = 100;  // of each kind in a step; a damaged manifest may have millions

std::string more_sentence(std::size_t all, const char* what) { return "and " + std::to_string(all - kMaxFlaws) + what; }

// The flaws of `step`, with the missing clients of `judged`.
std::vector<std::string> flaws_with(const StepEntry& step, const StepEntry& judged) {
  std::vector<std::string> flaws(step.failures.begin(),
                                 step.failures.begin() + static_cast<std::ptrdiff_t>(std::min(step.failures.size(), kMaxFlaws)));
  if (step.failures.size() > kMaxFlaws) flaws.push_back(more_sentence(step.failures.size(), " more failures"));
  if (!judged.missing.empty()) flaws.push_back("clients that never ended it: " + list(judged.missing));
  if (judged.never_attached > 0) flaws.push_back("clients that never attached: " + std::to_string(judged.never_attached));
  const char* const refused = step.dropped ? " dropped for lack of room" : " skipped for lack of room";
  for (std::size_t i = 0; i < std::min(step.skipped.size(), kMaxFlaws); ++i)
    flaws.push_back("'" + step.skipped[i] + "' was" + refused);
  if (step.skipped.size() > kMaxFlaws) flaws.push_back(more_sentence(step.skipped.size(), " more variables were") + refused);
  return flaws;
}

}  // namespace

std::vector<std::string> flaws_of(const StepEntry& step) { return flaws_with(step, step); }

Completeness::Completeness(const RunEntry& run) : apart_(run.apart), count_(run.apart ? 0 : run.servers) {
  if (apart_) servers_[name_of(run.host, run.first_server)];
}

Completeness Completeness::of_unknown_run() {
  Completeness unknown;
  unknown.is_unknown_ = true;
  return unknown;
}

std::int64_t Completeness::Delivery::delivered_until() const {
  if (!ended || losses.never_attached > 0) return whole_until;
  std::int64_t last = kOpen;
  for (const auto& [client, its_last] : losses.last_steps) last = std::min(last, its_last);
  return std::max(whole_until, last);
}

// Called when the server starts again. One that had ended without losses has nothing to deliver of the steps that others stored in its
// absence. For any other a gap begins after what it has delivered, open until it reports its next step.
void Completeness::Delivery::come_back(std::int64_t highest) {
  const std::int64_t delivered = delivered_until();
  const bool has_open_gap = !gaps.empty() && gaps.back().second == kOpen;
  if (delivered == kOpen)
    whole_until = std::max(whole_until, highest);
  else if (!has_open_gap)
    gaps.emplace_back(delivered, kOpen);
  ended = false;
}

bool Completeness::Delivery::is_in_gap(std::int64_t step) const {
  return std::any_of(gaps.begin(), gaps.end(), [&](const auto& gap) { return gap.first < step && step < gap.second; });
}

void Completeness::note(const StepEntry& line) {
  highest_ = std::max(highest_, line.step);
  const bool all_there = line.missing.empty() && line.never_attached == 0;
  for (const auto& [host, server] : line.reporters) {
    Delivery* const one = delivery_of(name_of(host, server));
    if (one == nullptr) continue;
    if (!one->gaps.empty() && one->gaps.back().second == kOpen) one->gaps.back().second = line.step;
    if (all_there) one->whole_until = std::max(one->whole_until, line.step);
  }
  // A step that other servers have not reported yet is judged again later.
  if (!line.complete && flaws_of(line).empty() && (apart_ || line.reporters.size() >= all())) flawed_.insert(line.step);
}

void Completeness::note(const ServerEntry& entry) {
  const bool comes_back = is_known(name_of(entry.host, entry.server));
  Delivery* one = delivery_of(name_of(entry.host, entry.server));
  if (one == nullptr) return;
  if (entry.what == ServerEntry::What::ended) {
    one->ended = true;
    one->losses = entry.losses;
    return;
  }
  if (comes_back) one->come_back(highest_);
}

Completeness::Delivery* Completeness::delivery_of(const Name& name) {
  return apart_ || (name.second >= 0 && name.second < count_) ? &servers_[name] : nullptr;
}

std::set<Completeness::Name> Completeness::reporters_of(const StepEntry& step) const {
  std::set<Name> names;
  for (const auto& [host, server] : step.reporters) names.insert(name_of(host, server));
  return names;
}

// Visits each known server that has not reported the step although it may have had data of it. `each` gets the losses of one that has
// ended, and nullptr for one that still has to report.
template <class Each>
void Completeness::for_each_absent(const StepEntry& step, Each&& each) const {
  const std::set<Name> reporters = reporters_of(step);
  if (reporters.size() >= all()) return;
  for (const auto& [name, server] : servers_) {
    const bool in_gap = server.is_in_gap(step.step);
    if ((server.whole_until >= step.step && !in_gap) || reporters.count(name) > 0) continue;
    each(name, server.ended && !in_gap ? &server.losses : nullptr);
  }
}

std::vector<std::string> Completeness::reasons(const StepEntry& step) const {
  StepEntry judged;
  judged.step = step.step;
  judged.missing = step.missing;
  judged.never_attached = step.never_attached;
  for_each_absent(step, [&](const Name&, const Losses* losses) {
    if (losses != nullptr) losses->add_to(judged);
  });
  std::vector<std::string> all = flaws_with(step, judged);
  if (is_unknown_) all.push_back("the line of its run is unreadable, so the servers that had to deliver it are unknown");
  if (const std::string names = unreported_servers(step); !names.empty()) all.push_back("servers that did not report it: " + names);
  if (all.empty() && flawed_.count(step.step) > 0) all.push_back("its line marks it as incomplete");
  return all;
}

std::string Completeness::unreported_servers(const StepEntry& step) const {
  if (reporters_of(step).size() >= all()) return "";
  std::vector<std::string> names;
  std::size_t unreported = 0;
  const auto add = [&](const std::string& name) {
    if (names.size() < kMaxNamed) names.push_back(name);
  };
  int next = 0;  // the first server that may have no line
  const auto add_without_line_until = [&](int end) {
    for (; next < end && names.size() < kMaxNamed; ++next)
      if (servers_.count({"", next}) == 0) add(std::to_string(next));
  };
  for_each_absent(step, [&](const Name& name, const Losses* losses) {
    if (losses != nullptr) return;
    if (!apart_) add_without_line_until(name.second);
    add(apart_ ? name.first + "/" + std::to_string(name.second) : std::to_string(name.second));
    ++unreported;
  });
  add_without_line_until(count_);
  unreported += all() - servers_.size();
  const std::size_t others = unreported - names.size();
  return list(names) + (others > 0 ? " and " + std::to_string(others) + " others" : "");
}

}  // namespace damaris::manifest
