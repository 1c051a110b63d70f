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
#include "server_report.hpp"

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

// A step whose line is due.
struct DueStep {
  StepEntry step;
  std::vector<ServerFiles> files;  // of those in `step`, by server: still to be put into a shard

  bool has_files() const { return step.has_files() || !files.empty(); }
};

// The step with the entries of its files, for a line that describes them itself. Requires the facts of each server.
StepEntry whole(const DueStep& due);

// Names the steps of `lines`, of which there is at least one.
inline std::string steps_text(const std::deque<DueStep>& lines) {
  StepSpan steps;
  for (const DueStep& line : lines) steps.add(line.step.step);
  return steps.text();
}

// The outcome of the step, to begin a sentence, up to the conjunction.
inline const char* outcome_of(const DueStep& due) {
  if (!due.step.failures.empty()) return due.has_files() ? " is stored in part, and" : " is not stored, and";
  return due.has_files() ? " is stored, but" : " has no data, and";
}

class StepCollector {
 public:
  explicit StepCollector(int servers);

  // A server that reports a step will not report earlier ones. If it throws, `report` is as before.
  void add(int server, ServerReport&& report);
  // The server will report no step up to `step` any more; `losses` are missing from these steps.
  void pass(int server, std::int64_t step, Losses losses = {});
  // Whether no step waits for the report of a server.
  bool is_empty() const { return open_.empty(); }
  // Whether the server has passed every possible step.
  bool is_finished(int server) const;
  // Whether every server but the first has, and none has lost a client.
  bool has_all_from_others() const;
  // Moves the steps that every server has reported or passed to the end of `lines`. If it throws, those that it has not moved are still here.
  void move_ready(std::deque<DueStep>& lines);
  // The same for all remaining steps, at the end. Those that some server has neither reported nor passed are incomplete.
  void move_rest(std::deque<DueStep>& lines);

 private:
  // Adds the servers that have passed the step without reporting it.
  void add_passed_servers(StepEntry& record) const;
  void move_first(std::deque<DueStep>& lines);

  std::vector<std::int64_t> last_;  // by server: the last step it has reported
  std::vector<Losses> losses_;      // by server: as of its last pass()
  std::map<std::int64_t, DueStep> open_;
};

}  // namespace damaris::manifest
