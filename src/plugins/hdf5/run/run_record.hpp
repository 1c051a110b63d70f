// A run's commit record as a reader sees it: what was stored, step by step.
// Used by: the master file and XDMF on the server's dispatch thread, restart, `damaris verify`.
// Before it: the text file <basename>.jsonl, which commit_log.hpp writes. After it: whoever looks for the data of a step.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "record.hpp"

namespace damaris::hdf5 {

// Steps of a later run replace those of an earlier one from its first step on: both stand in one record with exists="append".
// Lines of several servers about one step of a run are merged. A last line without its end is one that is being written: left out.
class RunRecordReader {
 public:
  explicit RunRecordReader(std::string path) : path_(std::move(path)) {}

  // Takes what was added since the last call. Returns whether there was anything. A file that is not there has no lines.
  // Throws damaris::Error(DC_E_IO) naming file and line.
  bool read_on();

  const std::map<std::int64_t, StepRecord>& steps() const { return steps_; }
  // For who looks at nothing else of it any more.
  std::map<std::int64_t, StepRecord> take_steps() && { return std::move(steps_); }
  const std::vector<RunRecord>& runs() const { return runs_; }
  // Servers of the run that stored `step`, one of steps(), without a word about it: they died before, or are not as far.
  std::vector<int> silent_servers(std::int64_t step) const;
  const std::string& path() const { return path_; }
  // The folder the files lie in.
  std::string folder() const;

 private:
  void take_line(const std::string& line);
  void take_step(StepRecord&& record);

  std::string path_;
  std::uint64_t offset_ = 0;
  std::uint64_t line_ = 0;
  std::vector<RunRecord> runs_;
  std::map<std::int64_t, StepRecord> steps_;
  std::map<std::int64_t, std::size_t> run_of_;  // step -> how many runs had begun when it was stored
};

}  // namespace damaris::hdf5
