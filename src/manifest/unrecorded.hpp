// A server's list of the steps that it has stored, in a hidden file of its own next to the manifest, until the manifest has recorded them: if
// the server that keeps it dies first, recovery finds here the steps that the manifest lacks.
// Used by: the hdf5 plugin, on the server's work thread, if there are several connected servers, or if the manifest has refused its lines.
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

  // Whether a server with these regions is one of the run's. `server`: as in Reporter.
  bool has_server(const Reporter& server, const std::string& its_regions) const {
    return server.first.empty() ? its_regions == regions : apart.count({server, its_regions}) > 0;
  }

  std::string regions;  // of the run
  std::map<std::int64_t, std::set<Reporter>> reporters;
  std::set<std::pair<Reporter, std::string>> apart;  // independent servers, and the regions of each
};

// `record`: the path of the manifest. Reads it line by line, and keeps only what it returns. With `regions`, those of a server: not what
// this server had recorded before it came back with them.
RecordedSteps steps_of_last_run(const std::string& record, const std::string& regions = "");

class UnrecordedSteps {
 public:
  // `regions` identifies the run: RunEntry. Of an independent server they are its own.
  UnrecordedSteps(const FileNames& names, Reporter server, std::string regions);

  // The existing files of the run's servers, if they are connected.
  static std::vector<UnrecordedSteps> find_all(const FileNames& names, const std::string& regions, int servers);
  // The existing files of independent servers, of any run.
  static std::vector<UnrecordedSteps> find_apart(const FileNames& names);

  // Adds the line of a step, or the server's `ended` line. The first call removes the file of an earlier run. Throws Failure; the
  // line is then kept and added with the next one, because readers conclude from a line that all earlier ones are recorded.
  void add(const Json& line);
  // Adds the lines that could not be added yet. Throws Failure.
  void add_waiting();
  bool has_waiting() const { return !waiting_.empty(); }
  // The manifest has all lines.
  void clear();
  // Whether the file exists and belongs to this run.
  bool exists() const;
  const std::string& path() const { return path_; }
  const std::string& regions() const { return regions_; }
  // The steps that `recorded` lacks, in the order in which they were stored; none if `recorded` is of another run.
  std::vector<StepEntry> missing_in(const RecordedSteps& recorded) const;
  // The server's `ended` line, if it ended normally.
  std::optional<ServerEntry> end() const;
  void remove() const;

 private:
  std::string path_;
  Reporter server_;
  std::string regions_;
  bool begun_ = false;
  std::string waiting_;  // lines that could not be added yet
};

// The steps in the lists that the last run of the manifest `record` lacks, list by list.
std::vector<StepEntry> missing_in(const std::string& record, const std::vector<UnrecordedSteps>& lists);

}  // namespace damaris::manifest
