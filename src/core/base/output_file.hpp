// A file that gets its final name only when it is complete and durable.
// Used by: the manifest and the hdf5 plugin, on the server's work thread.
// Before it: the file's name. After it: the code that writes into it, and publishes it.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/failure.hpp"

namespace damaris {

// Makes names in the folder of `path` durable. Throws Failure.
void sync_folder_of(const std::string& path);

// Writes all bytes at the descriptor's position. Returns 0, or the errno of the write that failed.
int write_all(int descriptor, const std::string& bytes);

class OutputFile {
 public:
  // Creates the temporary file, its name extended by unpredictable letters; throws Failure. The destructor removes it unless publish() has
  // succeeded.
  OutputFile(std::string temporary_path, std::string final_path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Open for reading and writing; owned by this object.
  int descriptor() const { return descriptor_; }
  const std::string& temporary_path() const { return temporary_path_; }
  const std::string& final_path() const { return final_path_; }

  void append(const std::string& bytes);
  // Waits until everything written to the file, through any descriptor, is durable.
  void sync();
  // Syncs, renames, and syncs the folder. Replaces a file of the final name if `overwrite`. Returns the size of the file in bytes.
  // Throws Failure, with kOwnedByOther if another user's entry in a sticky folder has the name.
  std::uint64_t publish(bool overwrite);

 private:
  std::string temporary_path_, final_path_;
  int descriptor_;
  bool published_ = false;
};

}  // namespace damaris
