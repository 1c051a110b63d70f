// Iterations in the words of a sentence about their lines in the manifest.
// Used by: writer.hpp, on the server's dispatch thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>

#include "entries.hpp"

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
  // "step 3", or "4 iterations, of step 1 to step 7"; of at least one.
  std::string text() const {
    const std::string name = "step " + std::to_string(first_);
    if (first_ == last_) return name;
    return std::to_string(count_) + " iterations, of " + name + " to step " + std::to_string(last_);
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

}  // namespace damaris::manifest
