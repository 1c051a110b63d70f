// What a server has stored, in a file of its own beside the others, for as long as only another server can record it: when that one dies
// first, recovery finds here what stands in no line of the manifest.
// Used by: the hdf5 plugin, on the server's dispatch thread; with several servers that reach each other.
// Before it: a step is stored. After it: writer.hpp, at the end of the run, in the recovery of any of its servers, or in a run that
// goes on in the same record.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "entries.hpp"
#include "output_folder.hpp"
#include "server_entry.hpp"

namespace damaris::manifest {

// What the last run of a manifest has recorded: step -> servers.
struct KnownSteps {
  std::string regions;  // of the run
  std::map<std::int64_t, std::set<int>> servers;
};

// Goes through the file a line at a time and keeps nothing else of it.
KnownSteps steps_of_last_run(const std::string& record);

class Unrecorded {
 public:
  // `regions` tells runs apart: RunEntry.
  Unrecorded(const FileNames& names, int server, std::string regions)
      : path_(names.hidden(".s" + std::to_string(server) + ".unrecorded")), server_(server), regions_(std::move(regions)) {}

  // Those of the run's servers that are there.
  static std::vector<Unrecorded> all(const FileNames& names, const std::string& regions, int servers);

  // The line of a step, or the server's last word. The first call takes away what an earlier run has left. Throws Failure; the line
  // is kept and comes with the next: a later one says that all before it are recorded.
  void add(const Json& line);
  // Whether the file is there, and of this run.
  bool is_there() const;
  // Those of this run that `recorded` lacks, in the order in which they were stored; none where it is of another run.
  std::vector<StepEntry> missing_in(const KnownSteps& recorded) const;
  // Its last word, if the server came to its end.
  std::optional<ServerEntry> end() const;
  void remove() const;

 private:
  std::string path_;
  int server_;
  std::string regions_;
  bool begun_ = false;
  std::string waiting_;  // lines that could not be added
};

}  // namespace damaris::manifest
