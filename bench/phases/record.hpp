// What a rank tells of its run: rank<R>.jsonl and rank<R>.failed, as README.md says.
// Used by: every rank, one thread.
// Before it: MPI has started. After it: bench_phases.py, which looks at the first line while the run goes on.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "phases/simulation.hpp"

namespace damaris::bench {

class Record {
 public:
  // Writes the first line. Throws Error(DC_E_IO).
  Record(const Options& options, int rank);
  void add(const std::vector<PhaseTimes>& times, std::uint64_t bytes);
  // Writes the last line. Throws Error(DC_E_IO).
  void end();

 private:
  void put(const std::string& line);

  std::string path_;
  std::ofstream file_;
};

// Leaves the reason in rank<R>.failed: MPICH's launcher may lose the last words of a rank that aborts the run.
void tell_failure(const Options& options, int rank, const std::string& reason);

}  // namespace damaris::bench
