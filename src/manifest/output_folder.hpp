// The names of a run's files and logs, what is in the output folder and whether that is writable, and the size and checksum of a file in it.
// Used by: the hdf5 plugin on the server's work thread; tools.
// Before it: the settings. After it: storage.hpp, the manifest.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace damaris::manifest {

// What helps where something is in the way of a file of the run, as the end of a sentence.
inline constexpr char kOtherBasename[] = "choose another basename";

// <folder>/<stem><part>.i<step>.h5, where <part> is .<host>.s<server>, .g<group> or empty (name_part of shared/team.hpp).
class FileNames {
 public:
  // `basename` is relative to the current working directory; a later change of directory does not affect the names.
  FileNames(const std::string& basename, const std::string& part);
  FileNames(const std::string& basename, const std::string& host, int server)
      : FileNames(basename, "." + host + ".s" + std::to_string(server)) {}

  const std::string& folder() const { return folder_; }
  const std::string& stem() const { return stem_; }
  // The manifest of the run and the files next to it: "<folder>/<stem>.jsonl".
  std::string of_run(const std::string& suffix) const { return folder_ + "/" + stem_ + suffix; }
  // The same for hidden files.
  std::string hidden(const std::string& suffix) const { return folder_ + "/." + stem_ + suffix; }
  std::string final_path(std::int64_t step) const { return folder_ + "/" + final_name(step); }
  // The start of the temporary file's path, to which OutputFile adds letters: next to the final one, hidden, with the process id.
  std::string temporary_path(std::int64_t step) const;
  // Whether `name` is that of a finished file of this server, of any step.
  bool is_final_name(const std::string& name) const;
  // Whether `name` is that of a file of the run, of any server and step.
  bool is_of_run(const std::string& name) const;
  // The id of the process that created the temporary file `name`; 0 if `name` is not that of a temporary file of this server.
  int owner_of_temporary(const std::string& name) const;

  std::string final_name(std::int64_t step) const { return prefix_ + std::to_string(step) + ".h5"; }

 private:
  std::string folder_, stem_, prefix_;  // the last: of the names of this server's files, including ".i"
};

// Creates a file with the longest possible name, writes to it and removes it: permission bits say nothing about root, read-only file
// systems or quotas.
// Throws damaris::Error(DC_E_NO_OUTPUT) with cause and remedy.
void check_can_write(const FileNames& names);

// Whether no process has this number, or only one that has ended: it keeps it until its parent waits for it, which some do late or never.
bool is_dead(int process);

// Removes the temporary files that this server left on this host when it was killed. Returns their number.
int remove_leftovers(const FileNames& names);

// Names (without folder) of this server's files from an earlier run, sorted.
std::vector<std::string> files_of_earlier_run(const FileNames& names);

// Of a log of a manifest: <stem>.g<generation>.<host>.s<server>.jsonl, one for each server of each run.
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

struct FileSum {
  std::uint64_t bytes = 0;     // read
  std::uint32_t checksum = 0;  // CRC-32 of them
};

// Of the bytes [begin, end), or to the end of the file if that comes first. Calls `progress` now and then with the bytes read so
// far.
// Throws Failure.
FileSum sum_of_file(const std::string& path, std::uint64_t begin = 0, std::uint64_t end = std::numeric_limits<std::uint64_t>::max(),
                    const std::function<void(std::uint64_t done)>& progress = {});

}  // namespace damaris::manifest
