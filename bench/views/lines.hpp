// A run of servers that exist only as lines of its manifest, and the files of one of its steps.
// Used by: the benchmark of the views, one thread.
// Before it: the sizes of the run. After it: RunViews reads the lines; a read of the master file opens the files.
#pragma once

#include <cstdint>
#include <string>

#include "folder.hpp"
#include "storage/made_run.hpp"

namespace damaris::bench {

struct RunSizes {
  int servers = 1, variables = 1, steps = 1;
};

class Lines {
 public:
  // `next`: the step whose line is added first.
  Lines(const RunSizes& sizes, const Folder& folder, std::int64_t next = 0);

  const dc_host_t& host() { return run_.host(); }
  std::string record() const { return (folder_.path() / "run.jsonl").string(); }
  // Adds the line of the next step.
  void add_step();
  // Makes the files of a step: a few values of each variable in each.
  void make_files(std::int64_t step);

 private:
  std::string file_name(int server, std::int64_t step) const;

  RunSizes sizes_;
  const Folder& folder_;
  MadeRun run_;
  std::int64_t next_;
};

}  // namespace damaris::bench
