// A server's list of the steps that it has stored, in a hidden file of its own next to the manifest, until the server that keeps the
// manifest has recorded them: if that server dies first, recovery finds here the steps that the manifest lacks.
// Used by: the hdf5 plugin, on the server's work thread, if there are several connected servers.
// Before it: a stored step. After it: writer.hpp, at the end of the run, in the recovery of any of its servers, or in a run that
// continues the same manifest.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "entries.hpp"
#include "output_folder.hpp"
#include "server_entry.hpp"

namespace damaris::manifest {

// A server that has reported a step: its host, "" unless servers are independent, and its number.
using Reporter = std::pair<std::string, int>;

// The steps recorded by the last run of a manifest.
struct RecordedSteps {
  bool has(std::int64_t step) const { return reporters.count(step) > 0; }
  bool by(const Reporter& server, std::int64_t step) const {
    const auto found = reporters.find(step);
    return found != reporters.end() && found->second.count(server) > 0;
  }

  void forget(const Reporter& server) {
    for (auto& [step, servers] : reporters) servers.erase(server);
  }

  std::string regions;  // of the run
  std::map<std::int64_t, std::set<Reporter>> reporters;
};

// `record`: the path of the manifest. Reads it line by line, and keeps only what it returns. With `regions`, those of a server: not what
// this server had recorded before it came back with them.
RecordedSteps steps_of_last_run(const std::string& record, const std::string& regions = "");

class UnrecordedSteps {
 public:
  // `regions` identifies the run: RunEntry.
  UnrecordedSteps(const FileNames& names, int server, std::string regions)
      : path_(names.hidden(".s" + std::to_string(server) + ".unrecorded")), server_(server), regions_(std::move(regions)) {}

  // The existing files of the run's servers.
  static std::vector<UnrecordedSteps> find_all(const FileNames& names, const std::string& regions, int servers);

  // Adds the line of a step, or the server's `ended` line. The first call removes the file of an earlier run. Throws Failure; the
  // line is then kept and added with the next one, because readers conclude from a line that all earlier ones are recorded.
  void add(const Json& line);
  // Whether lines could not be added yet.
  bool has_waiting() const { return !waiting_.empty(); }
  // Whether the file exists and belongs to this run.
  bool exists() const;
  // The steps that `recorded` lacks, in the order in which they were stored; none if `recorded` is of another run.
  std::vector<StepEntry> missing_in(const RecordedSteps& recorded) const;
  // The server's `ended` line, if it ended normally.
  std::optional<ServerEntry> end() const;
  void remove() const;

 private:
  std::string path_;
  int server_;
  std::string regions_;
  bool begun_ = false;
  std::string waiting_;  // lines that could not be added yet
};

}  // namespace damaris::manifest
