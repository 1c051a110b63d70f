// Reads what the shards of a manifest say of the files of a step.
// Used by: reader.hpp, and so the views, restart, `damaris verify` and `damaris manifest`; one thread.
// Before it: a line of the manifest. After it: the entries of the step's files.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/own_file.hpp"
#include "entries.hpp"

namespace damaris::manifest {

class ShardReader {
 public:
  // `folder`: of the manifest.
  explicit ShardReader(std::string folder) : folder_(std::move(folder)) {}

  // The step with all files in `files`, and of their datasets those of `variable`, or all if it is "". Reads the bytes of this step alone.
  // Throws damaris::Error(DC_E_IO) naming the shard if it is missing, cut, damaged or of another run, Failure if it cannot be read now.
  StepEntry complete(StepEntry step, const std::string& variable = "");
  // The names of all its files. Throws as complete().
  std::vector<std::string> names_of(const StepEntry& step);

 private:
  using Facts = std::shared_ptr<const std::vector<FileEntry>>;

  struct Closing;

  const StoredFileReader& open(const std::string& name);
  std::string bytes_at(const std::string& name, std::uint64_t at, std::uint64_t bytes);
  std::string step_at(const Described& described);
  Facts facts_at(const std::string& name, std::uint64_t at);
  std::vector<FileEntry> files_of(const std::vector<Described>& described, const std::string& variable);

  std::string folder_;
  std::string name_;  // of the open shard
  std::unique_ptr<StoredFileReader> file_;
  std::uint64_t size_ = 0;
  std::map<std::pair<std::string, std::uint64_t>, Facts> facts_;  // by shard and place
  std::size_t known_datasets_ = 0;                                // in facts_
};

}  // namespace damaris::manifest
