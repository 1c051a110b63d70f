// How far a benchmark is: one line on a terminal, nothing elsewhere.
// Used by: every benchmark, one thread.
#pragma once

#include <string>

namespace damaris::bench {

class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();  // takes the line away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  // Throws Interrupted when the benchmark is to end.
  void show(int done, int total);

 private:
  std::string what_;
  bool terminal_;
};

}  // namespace damaris::bench
