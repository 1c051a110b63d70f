// The files of this server that another process had left when it started: those of earlier runs, and those of this run, which the
// server has come back into.
// Used by: writer.hpp, on the server's dispatch thread.
// Before it: output_folder.hpp, and the lines of the run. After it: the files of earlier runs are removed.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "output_folder.hpp"

namespace damaris::manifest {

// What the lines of a run say of its files. `names`: of one of its servers.
struct FilesOfRun {
  std::set<std::string> files;     // names in its steps
  std::set<std::string> prefixes;  // of the files of each process that has joined it
};
// Reads the lines from byte `begins_at` of the manifest `record` on. Returns nothing if one is damaged, as it may have named a file or a
// process, or if there is none. Throws Failure.
std::optional<FilesOfRun> files_of_run(const std::string& record, std::uint64_t begins_at, const FileNames& names);

class OwnFiles {
 public:
  // `replaces_all`: the files of earlier runs are to be removed.
  OwnFiles(const FileNames& names, bool replaces_all) : names_(names), replaces_all_(replaces_all) {}

  // For a server that joins a run that goes on, whose lines begin at byte `begins_at` of the manifest `record`: the files that they
  // name are of this run. So is every file if one of the lines is damaged or missing. Throws Failure if they are unreadable.
  void join(const std::string& record, std::uint64_t begins_at);
  // Names (without folder) of the files of earlier runs, sorted.
  std::vector<std::string> of_earlier_runs() const;
  // Call before each file is stored: looks for the files of earlier runs, the first time.
  void prepare();
  // Call after each file is stored: it is none of an earlier run's any more. From the first one on the others may be removed. Returns
  // whether it has replaced a file of this run, which this server had stored before it came back.
  bool stored(const std::string& name) noexcept;
  // Removes the files of earlier runs, if they are to be removed and this server has stored a file.
  void remove_earlier();

 private:
  const FileNames& names_;
  bool replaces_all_;
  bool prepared_ = false, has_stored_ = false;
  bool all_of_this_run_ = false;
  std::set<std::string> of_this_run_;  // when it joined
  std::set<std::string> earlier_;      // to be removed once this server has stored a file
};

}  // namespace damaris::manifest
