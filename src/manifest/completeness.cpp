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

constexpr std::size_t kMostNamed = 20;  // servers: a run may have thousands, and a damaged record says any number

constexpr std::size_t kMostFlaws = 100;  // of a kind; a damaged record names millions

std::string more_than_told(std::size_t all, const char* what) { return "and " + std::to_string(all - kMostFlaws) + what; }

// What `step` says against itself, with the clients that `judged` names.
std::vector<std::string> flaws_with(const StepEntry& step, const StepEntry& judged) {
  std::vector<std::string> flaws(step.failures.begin(),
                                 step.failures.begin() + static_cast<std::ptrdiff_t>(std::min(step.failures.size(), kMostFlaws)));
  if (step.failures.size() > kMostFlaws) flaws.push_back(more_than_told(step.failures.size(), " failures more"));
  if (!judged.missing.empty()) flaws.push_back("clients that never ended it: " + list(judged.missing));
  if (judged.never_attached > 0) flaws.push_back("clients that never attached: " + std::to_string(judged.never_attached));
  const char* const refused = step.dropped ? " dropped for want of room" : " skipped for want of room";
  for (std::size_t i = 0; i < std::min(step.skipped.size(), kMostFlaws); ++i)
    flaws.push_back("'" + step.skipped[i] + "' was" + refused);
  if (step.skipped.size() > kMostFlaws) flaws.push_back(more_than_told(step.skipped.size(), " variables more were") + refused);
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

void Completeness::note(const StepEntry& line) {
  highest_ = std::max(highest_, line.step);
  const bool all_there = line.missing.empty() && line.never_attached == 0;
  for (const auto& [host, server] : line.tellers)
    if (Delivery* one = known(name_of(host, server)); one != nullptr && all_there)
      one->whole_until = std::max(one->whole_until, line.step);
  // Steps that others had not reported yet are judged anew.
  if (!line.complete && flaws_of(line).empty() && (apart_ || line.tellers.size() >= all())) flawed_.insert(line.step);
}

void Completeness::note(const ServerEntry& word) {
  Delivery* one = known(name_of(word.host, word.server));
  if (one == nullptr) return;
  if (word.what == ServerEntry::What::ended) {
    one->ended = true;
    one->losses = word.losses;
    return;
  }
  // One that comes back has to deliver again; of what the others stored while it was away it had nothing.
  const bool was_whole = one->ended && one->losses.last_steps.empty() && one->losses.never_attached == 0;
  if (was_whole) one->whole_until = std::max(one->whole_until, highest_);
  one->ended = false;
}

Completeness::Delivery* Completeness::known(const Name& name) {
  return apart_ || (name.second >= 0 && name.second < count_) ? &servers_[name] : nullptr;
}

std::set<Completeness::Name> Completeness::tellers_of(const StepEntry& step) const {
  std::set<Name> names;
  for (const auto& [host, server] : step.tellers) names.insert(name_of(host, server));
  return names;
}

// Each server with a line that does not name the step, with what it had lost; nullptr: it has not said what became of it.
template <class Each>
void Completeness::for_each_absent(const StepEntry& step, Each&& each) const {
  const std::set<Name> tellers = tellers_of(step);
  if (tellers.size() >= all()) return;
  for (const auto& [name, server] : servers_) {
    if (server.whole_until >= step.step || tellers.count(name) > 0) continue;
    each(name, server.ended ? &server.losses : nullptr);
  }
}

std::vector<std::string> Completeness::reasons(const StepEntry& step) const {
  StepEntry judged;
  judged.step = step.step;
  judged.missing = step.missing;
  judged.never_attached = step.never_attached;
  for_each_absent(step, [&](const Name&, const Losses* losses) {
    if (losses != nullptr) losses->name_in(judged);
  });
  std::vector<std::string> all = flaws_with(step, judged);
  if (is_unknown_) all.push_back("the line of its run cannot be read, so nobody knows which servers were to deliver it");
  if (const std::string names = silent(step); !names.empty()) all.push_back("servers that did not report it: " + names);
  if (all.empty() && flawed_.count(step.step) > 0) all.push_back("its line says that it is not complete");
  return all;
}

std::string Completeness::silent(const StepEntry& step) const {
  if (tellers_of(step).size() >= all()) return "";
  std::vector<std::string> names;
  std::size_t all_silent = 0;
  const auto add = [&](const std::string& name) {
    if (names.size() < kMostNamed) names.push_back(name);
  };
  int next = 0;  // the first server that may be one without a line
  const auto add_without_line_until = [&](int end) {
    for (; next < end && names.size() < kMostNamed; ++next)
      if (servers_.count({"", next}) == 0) add(std::to_string(next));
  };
  for_each_absent(step, [&](const Name& name, const Losses* losses) {
    if (losses != nullptr) return;
    if (!apart_) add_without_line_until(name.second);
    add(apart_ ? name.first + "/" + std::to_string(name.second) : std::to_string(name.second));
    ++all_silent;
  });
  add_without_line_until(count_);
  all_silent += all() - servers_.size();
  const std::size_t others = all_silent - names.size();
  return list(names) + (others > 0 ? " and " + std::to_string(others) + " others" : "");
}

}  // namespace damaris::manifest
