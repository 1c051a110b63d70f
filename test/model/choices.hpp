// The choices of one run, counted up like an odometer from run to run, so that in the end all have been made.
// Used by: the explorer of the model tests.
// Before it: explore. After it: which thread goes on, which value it sees.
#pragma once

#include <cstddef>
#include <vector>

namespace damaris::explorer {

class Choices {
 public:
  std::size_t choose(std::size_t count) {
    if (count == 1) return 0;
    if (depth_ == path_.size()) path_.push_back({0, count});
    return path_[depth_++].chosen;
  }
  // Returns false when all have been made.
  bool advance() {
    depth_ = 0;
    while (!path_.empty() && path_.back().chosen + 1 == path_.back().count) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().chosen;
    return true;
  }

 private:
  struct Choice {
    std::size_t chosen, count;
  };
  std::vector<Choice> path_;
  std::size_t depth_ = 0;
};

}  // namespace damaris::explorer
