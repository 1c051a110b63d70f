// The names of the logs of a manifest: <basename>.g<generation>.<host>.s<server>.jsonl, one for each server of each run.
// Used by: the hdf5 plugin on the server's work thread; tools.
// Before it: the basename. After it: log.hpp writes one, manifest.hpp reads all.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace damaris::manifest {

struct LogName {
  std::int64_t generation = 0;  // of the run: 1, 2, 3 ... under a basename
  std::string host;             // without dots
  int server = 0;

  // "<stem>.g1.node7.s0.jsonl"; `stem` without folder.
  std::string of(const std::string& stem) const;
  bool operator<(const LogName& other) const { return key() < other.key(); }
  bool operator==(const LogName& other) const { return key() == other.key(); }

 private:
  std::tuple<const std::int64_t&, const std::string&, const int&> key() const { return {generation, host, server}; }
};

// Nothing for another name.
std::optional<LogName> log_name_from(const std::string& name, const std::string& stem);

// The stems of the basenames that have logs in the folder. Throws Failure if it cannot be looked into, but by rights.
std::set<std::string> stems_in(const std::string& folder);

// All logs of the basename <folder>/<stem>, sorted: those of a generation follow one another. Without those of other users, who
// may have put anything there; if there are only such, all of them, unless `only_own`. Throws as above.
std::vector<LogName> find_logs(const std::string& folder, const std::string& stem, bool only_own = false);

}  // namespace damaris::manifest
