#include "completeness.hpp"

#include <algorithm>
#include <utility>

namespace damaris::hdf5 {
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

// A run may have thousands of servers.
std::string list_first(std::vector<std::string> names) {
  constexpr std::size_t kMost = 20;
  const std::size_t all = names.size();
  names.resize(std::min(all, kMost));
  return list(names) + (all > kMost ? " and " + std::to_string(all - kMost) + " others" : "");
}

}  // namespace

std::vector<std::string> flaws_of(const StepRecord& step) {
  std::vector<std::string> flaws = step.failures;
  if (!step.missing.empty()) flaws.push_back("clients that never ended it: " + list(step.missing));
  if (step.never_attached > 0) flaws.push_back("clients that never attached: " + std::to_string(step.never_attached));
  for (const std::string& variable : step.skipped)
    flaws.push_back("'" + variable + (step.dropped ? "' was dropped for want of room" : "' was skipped for want of room"));
  return flaws;
}

Completeness::Completeness(const RunRecord& run) : apart_(run.apart) {
  if (apart_) servers_[name_of(run.host, run.first_server)];
  for (int server = 0; !apart_ && server < run.servers; ++server) servers_[name_of("", server)];
}

void Completeness::told(const StepRecord& line) {
  const bool all_there = line.missing.empty() && line.never_attached == 0;
  for (const auto& [host, server] : line.tellers)
    if (Server* one = known(name_of(host, server)); one != nullptr && all_there)
      one->whole_until = std::max(one->whole_until, line.step);
  // That others had not told yet is judged anew.
  if (!line.complete && flaws_of(line).empty() && (apart_ || line.tellers.size() >= servers_.size())) flawed_.insert(line.step);
}

void Completeness::told(const ServerWord& word) {
  Server* one = known(name_of(word.host, word.server));
  if (one == nullptr || word.what != ServerWord::What::ended) return;
  one->ended = true;
  one->losses = word.losses;
}

Completeness::Server* Completeness::known(const Name& name) {
  if (apart_) return &servers_[name];
  const auto found = servers_.find(name);
  return found == servers_.end() ? nullptr : &found->second;
}

std::set<Completeness::Name> Completeness::tellers_of(const StepRecord& step) const {
  std::set<Name> names;
  for (const auto& [host, server] : step.tellers) names.insert(name_of(host, server));
  return names;
}

// Each server that does not name the step, with what it had lost; nullptr: it has not said what became of it.
template <class Each>
void Completeness::for_each_absent(const StepRecord& step, Each&& each) const {
  const std::set<Name> tellers = tellers_of(step);
  if (tellers.size() >= servers_.size()) return;
  for (const auto& [name, server] : servers_) {
    if (server.whole_until >= step.step || tellers.count(name) > 0) continue;
    each(name, server.ended ? &server.losses : nullptr);
  }
}

std::vector<std::string> Completeness::reasons(const StepRecord& step) const {
  StepRecord judged;
  judged.step = step.step;
  judged.missing = step.missing;
  judged.never_attached = step.never_attached;
  judged.skipped = step.skipped;
  judged.dropped = step.dropped;
  judged.failures = step.failures;
  for_each_absent(step, [&](const Name&, const Losses* losses) {
    if (losses != nullptr) losses->name_in(judged);
  });
  std::vector<std::string> all = flaws_of(judged);
  if (const std::vector<std::string> names = silent(step); !names.empty())
    all.push_back("servers that did not report it: " + list_first(names));
  if (all.empty() && flawed_.count(step.step) > 0) all.push_back("its line says that it is not complete");
  return all;
}

std::vector<std::string> Completeness::silent(const StepRecord& step) const {
  std::vector<std::string> names;
  for_each_absent(step, [&](const Name& name, const Losses* losses) {
    if (losses == nullptr) names.push_back(apart_ ? name.first + "/" + std::to_string(name.second) : std::to_string(name.second));
  });
  return names;
}

}  // namespace damaris::hdf5
