// Which steps all servers have reported: the memory of the server that keeps the manifest.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: reports of the servers, each in step order. After it: lines of the manifest, in step order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "entries.hpp"
#include "server_entry.hpp"

namespace damaris::manifest {

// How many, from which one to which.
class StepSpan {
 public:
  void add(std::int64_t step) {
    first_ = count_ == 0 ? step : std::min(first_, step);
    last_ = count_++ == 0 ? step : std::max(last_, step);
  }
  bool empty() const { return count_ == 0; }
  std::int64_t last() const { return last_; }
  // "step 3", or "4 steps, of step 1 to step 7"; of at least one.
  std::string text() const {
    const std::string name = "step " + std::to_string(first_);
    if (first_ == last_) return name;
    return std::to_string(count_) + " steps, of " + name + " to step " + std::to_string(last_);
  }

 private:
  std::uint64_t count_ = 0;
  std::int64_t first_ = 0, last_ = 0;
};

// The steps of at least one line.
inline std::string named(const std::deque<StepEntry>& lines) {
  StepSpan steps;
  for (const StepEntry& line : lines) steps.add(line.step);
  return steps.text();
}

// What became of the data, as far as the comma and the conjunction of a sentence.
inline const char* fate_of(const StepEntry& step) {
  if (!step.failures.empty()) return step.files.empty() ? " is not stored, and" : " is stored in part, and";
  return step.files.empty() ? " has no data, and" : " is stored, but";
}

class StepCollector {
 public:
  explicit StepCollector(int servers);

  // A server that reports a step has nothing to say of earlier ones any more.
  void add(int server, StepEntry&& record);
  // It has nothing to say of the steps up to `step` either; of these `losses` are missing.
  void pass(int server, std::int64_t step, Losses losses = {});
  // Whether the server has passed all steps there can be.
  bool has_told_all(int server) const;
  // The steps that every server has reported or passed; each is returned once.
  std::vector<StepEntry> ready();
  // At the end: all that is left. Steps that some server has neither reported nor passed are not complete.
  std::vector<StepEntry> rest();

 private:
  // Of the servers that have passed the step without a report.
  void add_who_passed(StepEntry& record) const;

  std::vector<std::int64_t> last_;  // by server: the last step it has reported
  std::vector<Losses> losses_;      // by server: as it said when it passed something last
  std::map<std::int64_t, StepEntry> open_;
};

}  // namespace damaris::manifest
