// What a server has stored, in a file of its own beside the others, for as long as only another server can record it: when that one dies
// first, recovery finds here what stands in no line of the record.
// Used by: the hdf5 plugin, on the server's dispatch thread; with several servers that reach each other.
// Before it: a step is stored. After it: commit_log.hpp, in the run or in the recovery of this server.
#pragma once

#include <string>
#include <vector>

#include "../file_names.hpp"
#include "record.hpp"

namespace damaris::hdf5 {

class Unrecorded {
 public:
  Unrecorded(const FileNames& names, int server) : path_(names.hidden(".s" + std::to_string(server) + ".unrecorded")) {}

  // The first call takes away what an earlier run has left. Throws Failure.
  void add(const StepRecord& step);
  // Those that `record` does not tell of, in the order in which they were stored.
  std::vector<StepRecord> missing_in(const std::string& record, int server) const;
  void remove() const;

 private:
  std::string path_;
  bool begun_ = false;
};

}  // namespace damaris::hdf5
