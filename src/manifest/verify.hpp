// Re-checks the files of a run against its manifest: files by their bytes, datasets by their values.
// Used by: `damaris verify`, one thread.
// Before it: the command line. After it: reader.hpp; what the storage reads values with.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "entries.hpp"
#include "reader.hpp"

namespace damaris::manifest {

struct ViewFiles {
  std::string variable;
  std::uint64_t steps = 0;        // in which it was stored
  std::uint64_t all = 0;          // of all of them: what a read of the whole array opens
  std::uint64_t in_one_step = 0;  // the most
};

// By the name of the variable.
std::vector<ViewFiles> files_of_views(const std::map<std::int64_t, StepEntry>& steps);

// Something that is not as the manifest says. `file` is "" for what concerns a whole step, `dataset` for a whole file; `step` is -1 for
// what belongs to none: the manifest itself, or with a `file` a view of the run.
struct Finding {
  std::int64_t step = 0;
  std::string file, dataset;
  std::string what;  // "its values are damaged", "it is missing", ...
};

struct Verification {
  std::uint64_t steps = 0, files = 0, datasets = 0, bytes = 0;
  std::vector<Finding> damaged;
  std::vector<Finding> unread;            // what this process lacks the rights, descriptors or memory to look at: it may be whole
  std::uint64_t uncovered = 0;            // lines of the manifest without a checksum: an earlier version wrote them
  std::vector<Finding> partial;           // steps that are not complete, with the reason: so when they were written
  std::vector<std::string> not_recorded;  // files of the run's name that no line names
  std::vector<std::string> noted;         // files that no line names, while notes of their servers do: unrecorded.hpp
  std::vector<std::string> replaced;      // files whose steps a later run has replaced
  std::vector<ViewFiles> views;           // what a read of each opens
  std::vector<std::string> regions;       // how the names of its runs' regions begin
};

// An open file of a run, whose datasets' values are read again.
class ValueReader {
 public:
  virtual ~ValueReader() = default;
  // The checksum of the values as they are now. Throws Failure.
  virtual std::uint32_t checksum_of(const DatasetEntry& dataset) = 0;
};

struct VerifyOptions {
  bool values = true;  // read every dataset; else only those of files whose bytes have changed
  // Opens a file of the run. Throws Failure.
  std::function<std::unique_ptr<ValueReader>(const std::string& path)> open;
  // Called now and then with the bytes checked so far and in all.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress;
};

// `run`: the manifest, or the basename of a run, or a folder with one manifest. Throws damaris::Error(DC_E_ARGUMENT) naming what is there.
std::string find_manifest(const std::string& run);

// Throws damaris::Error(DC_E_IO) for a manifest that cannot be read.
Verification verify(const std::string& record, const VerifyOptions& options);

}  // namespace damaris::manifest
