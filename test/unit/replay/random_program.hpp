// Random programs as plans, and what they take by the definition: each operation begins when those that it needs are done.
// Used by: tests of the evaluator and the player, one thread.
// Before it: a seed. After it: a plan's text, and the end of each process, or a dead end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace damaris::test {

class RandomProgram {
 public:
  RandomProgram(std::uint64_t seed, int events) : random_(seed), steps_(static_cast<std::size_t>(1 + below(6))) {
    for (int i = 0; i < events; ++i) add_event();
    for (const auto& [number, receiver] : pending_) steps_[receiver].push_back({'g', number, below(50), false});
    if (below(3) == 0) swap_two();
  }

  std::string text() const {
    std::string text = "damaris plan 1\nfile 0 4096 data\n";
    for (const auto& [number, members] : members_) {
      text += "collective " + std::to_string(number);
      for (const std::size_t one : members) text += " " + std::to_string(one);
      text += "\n";
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      text += "process " + std::to_string(i) + "\n";
      for (const Step& one : steps_[i]) text += line_of(one);
    }
    return text;
  }

  // Nothing: some can never be met.
  std::optional<std::vector<std::uint64_t>> ends() {
    std::vector<std::uint64_t> result;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      result.push_back(end_of(i, steps_[i].size()));
      if (is_dead_) return std::nullopt;
    }
    return result;
  }

 private:
  struct Step {
    char kind;
    int number;
    std::uint64_t ns;
    bool marked;  // sync, root
  };
  using Place = std::pair<std::size_t, std::size_t>;  // process, step

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  static std::string line_of(const Step& one) {
    if (one.kind == 'c') return "c " + std::to_string(one.ns) + "\n";
    if (one.kind == 'r') return "r 0 0 16 # " + std::to_string(one.ns) + "\n";
    if (one.kind == 'k') return "k " + std::to_string(one.number) + "\n";
    return std::string(1, one.kind) + " " + std::to_string(one.number) + " " + std::to_string(one.ns) +
           (!one.marked       ? ""
            : one.kind == 'p' ? " 8 sync"
                              : " root") +
           "\n";
  }

  void add_event() {
    const std::size_t process = below(steps_.size());
    switch (below(6)) {
      case 0:
        steps_[process].push_back({'c', 0, below(1000), false});
        break;
      case 1:
        steps_[process].push_back({'r', 0, below(2000), false});
        break;
      case 2:
        add_collective();
        break;
      default:
        add_message(process, below(steps_.size()));
    }
    if (!pending_.empty() && below(2) == 0) {
      const auto one = std::next(pending_.begin(), static_cast<std::ptrdiff_t>(below(pending_.size())));
      steps_[one->second].push_back({'g', one->first, below(50), false});
      pending_.erase(one);
    }
  }

  void add_message(std::size_t from, std::size_t to) {
    const bool is_sync = below(10) == 0;
    ++number_;
    if (is_sync && below(3) != 0) steps_[to].push_back({'k', number_, 0, false});
    steps_[from].push_back({'p', number_, below(50), is_sync});
    pending_[number_] = to;
  }

  void add_collective() {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (below(3) != 0) members.push_back(i);
    if (members.empty()) return;
    std::shuffle(members.begin(), members.end(), random_);
    const char kind = "bafeq"[below(5)];
    const std::size_t root = members[below(members.size())];
    ++number_;
    for (const std::size_t one : members)
      steps_[one].push_back({kind, number_, below(50), one == root && (kind == 'f' || kind == 'e')});
    members_[number_] = members;
  }

  void swap_two() {
    std::vector<Step>& steps = steps_[below(steps_.size())];
    if (steps.empty()) return;
    const std::size_t a = below(steps.size()), b = below(steps.size());
    std::swap(steps[a], steps[b]);
    for (std::size_t i = 0; i < steps.size(); ++i)  // what a reader refuses
      for (std::size_t j = i; j < steps.size(); ++j)
        if (steps[i].kind == 'g' && steps[j].kind == 'k' && steps[i].number == steps[j].number)
          return std::swap(steps[a], steps[b]);
  }

  Place place_of(char kind, int number) const {
    for (std::size_t i = 0; i < steps_.size(); ++i)
      for (std::size_t j = 0; j < steps_[i].size(); ++j)
        if (steps_[i][j].kind == kind && steps_[i][j].number == number) return {i, j};
    return {steps_.size(), 0};
  }

  // When a process has done its first `count` steps, by the definition, from the end to the beginning.
  std::uint64_t end_of(std::size_t process, std::size_t count) {
    if (count == 0 || is_dead_) return 0;
    const Place key = {process, count};
    if (const auto found = known_.find(key); found != known_.end()) {
      if (found->second == kInWork) is_dead_ = true;
      return found->second;
    }
    known_[key] = kInWork;
    const Step& one = steps_[process][count - 1];
    std::uint64_t begin = end_of(process, count - 1);
    for (const auto& [need, ended] : needs(process, one))
      begin = std::max(begin, end_of(need.first, need.second + (ended ? 1 : 0)));
    return known_[key] = begin + one.ns;
  }

  // The steps that it needs, and whether they must have ended or only been reached.
  std::vector<std::pair<Place, bool>> needs(std::size_t process, const Step& one) const {
    if (one.kind == 'g') return {{place_of('p', one.number), true}};
    if (one.kind == 'p' && one.marked) {
      const Place known = place_of('k', one.number);
      return {{known.first < steps_.size() ? known : place_of('g', one.number), false}};
    }
    std::vector<std::pair<Place, bool>> result;
    if (const auto found = members_.find(one.number); found != members_.end() && one.kind != 'c' && one.kind != 'r') {
      for (const std::size_t member : found->second) {
        if (one.kind == 'q' && member == process) break;
        const Place place = in(member, one);
        const bool is_root = steps_[place.first][place.second].marked;
        if ((one.kind == 'f' && !is_root) || (one.kind == 'e' && !one.marked)) continue;
        if (member != process) result.push_back({place, false});
      }
    }
    return result;
  }

  Place in(std::size_t process, const Step& like) const {
    std::size_t j = 0;
    while (steps_[process][j].kind != like.kind || steps_[process][j].number != like.number) ++j;
    return {process, j};
  }

  static constexpr std::uint64_t kInWork = ~std::uint64_t{0};
  std::mt19937_64 random_;
  std::vector<std::vector<Step>> steps_;             // of each process
  std::map<int, std::vector<std::size_t>> members_;  // of each collective
  std::map<int, std::size_t> pending_;               // messages that are not received yet, and their receivers
  std::map<Place, std::uint64_t> known_;
  int number_ = 0;
  bool is_dead_ = false;
};

}  // namespace damaris::test
