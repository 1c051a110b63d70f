// Collects the reports of all servers, on the server that keeps the manifest.
// Used by: the hdf5 plugin, on the server's work thread.
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

// The number of steps in a list, the first and the last.
class StepSpan {
 public:
  void add(std::int64_t step) {
    first_ = count_ == 0 ? step : std::min(first_, step);
    last_ = count_++ == 0 ? step : std::max(last_, step);
  }
  bool empty() const { return count_ == 0; }
  std::int64_t last() const { return last_; }
  // "step 3", or "4 steps, step 1 to step 7"; requires at least one.
  std::string text() const {
    const std::string name = "step " + std::to_string(first_);
    if (first_ == last_) return name;
    return std::to_string(count_) + " steps, " + name + " to step " + std::to_string(last_);
  }

 private:
  std::uint64_t count_ = 0;
  std::int64_t first_ = 0, last_ = 0;
};

// Names the steps of `lines`, of which there is at least one.
inline std::string steps_text(const std::deque<StepEntry>& lines) {
  StepSpan steps;
  for (const StepEntry& line : lines) steps.add(line.step);
  return steps.text();
}

// The outcome of the step, to begin a sentence, up to the conjunction.
inline const char* outcome_of(const StepEntry& step) {
  if (!step.failures.empty()) return step.files.empty() ? " is not stored, and" : " is stored in part, and";
  return step.files.empty() ? " has no data, and" : " is stored, but";
}

class StepCollector {
 public:
  explicit StepCollector(int servers);

  // A server that reports a step will not report earlier ones. If it throws, `record` is as before.
  void add(int server, StepEntry&& record);
  // The server will report no step up to `step` any more; `losses` are missing from these steps.
  void pass(int server, std::int64_t step, Losses losses = {});
  // Whether no step waits for the report of a server.
  bool is_empty() const { return open_.empty(); }
  // Whether the server has passed every possible step.
  bool is_finished(int server) const;
  // Moves the steps that every server has reported or passed to the end of `lines`. If it throws, those that it has not moved are still here.
  void move_ready(std::deque<StepEntry>& lines);
  // The same for all remaining steps, at the end. Those that some server has neither reported nor passed are incomplete.
  void move_rest(std::deque<StepEntry>& lines);

 private:
  // Adds the servers that have passed the step without reporting it.
  void add_passed_servers(StepEntry& record) const;
  void move_first(std::deque<StepEntry>& lines);

  std::vector<std::int64_t> last_;  // by server: the last step it has reported
  std::vector<Losses> losses_;      // by server: as of its last pass()
  std::map<std::int64_t, StepEntry> open_;
};

}  // namespace damaris::manifest
