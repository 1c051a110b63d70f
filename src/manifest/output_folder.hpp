// The names of a run's files, and the output folder at start-up: can files be made there, and what is left of an earlier run?
// Used by: the hdf5 plugin on the server's dispatch thread; tools.
// Before it: the settings. After it: storage.hpp, the manifest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace damaris::manifest {

// <folder>/<stem><part>.i<step>.h5, where the part is .<host>.s<server>, .g<group> or nothing: shared/agreement.hpp
class FileNames {
 public:
  // `basename` relative to the working directory of now; a later change of directory does not move the files.
  FileNames(const std::string& basename, const std::string& part);
  FileNames(const std::string& basename, const std::string& host, int server)
      : FileNames(basename, "." + host + ".s" + std::to_string(server)) {}

  const std::string& folder() const { return folder_; }
  // The start of all names of this server's files, up to and with ".i".
  const std::string& prefix() const { return prefix_; }
  // The manifest of the run, and what else stands beside it: "<folder>/<stem>.jsonl".
  std::string of_run(const std::string& suffix) const { return folder_ + "/" + stem_ + suffix; }
  // The same for what no user looks for.
  std::string hidden(const std::string& suffix) const { return folder_ + "/." + stem_ + suffix; }
  std::string final_path(std::int64_t step) const { return folder_ + "/" + final_name(step); }
  // How its name begins: beside the final one, hidden, and with the process id, so that it is nobody else's.
  std::string temporary_path(std::int64_t step) const;
  // Whether a file of this name in the folder is a final file of this server, of whatever step.
  bool is_final_name(const std::string& name) const;
  // Whether a file of this name is one of the run, of whatever server and step.
  bool is_of_run(const std::string& name) const;
  // The process that made the temporary file of this name, 0 if it is none of this server's.
  int owner_of_temporary(const std::string& name) const;

  std::string final_name(std::int64_t step) const { return prefix_ + std::to_string(step) + ".h5"; }

 private:
  std::string folder_, stem_, prefix_;
};

// Makes a file, writes to it and removes it: permission bits mean nothing to root, on read-only file systems, or with
// a quota. Throws damaris::Error(DC_E_NO_OUTPUT) with cause and remedy.
void check_can_write(const FileNames& names);

// Removes the temporary files that this server left on this host when it was killed. Returns how many.
int remove_leftovers(const FileNames& names);

// Names (without folder) of this server's files from an earlier run, sorted.
std::vector<std::string> files_of_earlier_run(const FileNames& names);

}  // namespace damaris::manifest
