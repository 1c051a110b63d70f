// Re-checks the files of a run against its manifest: files by their bytes, datasets by their values.
// Used by: `damaris verify`, one thread.
// Before it: the command line. After it: manifest.hpp, and the storage's reader of values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "entries.hpp"
#include "log.hpp"

namespace damaris::manifest {

struct ViewFiles {
  std::string variable;
  std::uint64_t steps = 0;        // in which the variable was stored
  std::uint64_t all = 0;          // files of all steps: those that a read of the whole array opens
  std::uint64_t in_one_step = 0;  // files of one step: the maximum
};

// A deviation from the manifest. `file` is "" if it concerns a whole step, `dataset` is "" if it concerns a whole file; `step` is
// -1 for the manifest itself, or with a `file` for a view of the run.
struct Finding {
  std::int64_t step = 0;
  std::string file, dataset;
  std::string what;  // "its values are damaged", "it is missing", ...
};

struct Verification {
  Holder holder = Holder::none;  // of a log of the last run, looked at before they were read
  bool has_ended = false;        // the last run, and why not
  std::string why_not_ended;
  std::int64_t first_step = -1, last_step = -1;
  std::uint64_t steps = 0, files = 0, datasets = 0, bytes = 0;
  std::vector<Finding> damaged;
  std::vector<Finding> unread;            // not checked for lack of rights, descriptors or memory: may be undamaged
  std::vector<Finding> partial;           // steps that were incomplete when they were written, with the reason
  std::vector<std::string> not_recorded;  // files with the run's name that no record names
  std::vector<std::string> replaced;      // files whose steps a later run has replaced
  bool views_follow = false;              // the last steps were recorded after the views of the run
  std::vector<ViewFiles> views;           // the files that a read of each variable opens
  std::set<std::string> regions;          // what its logs say are the prefixes of the names of its runs' regions: may be forged
};

// An open file of a run, to read its datasets' values again.
class ValueReader {
 public:
  virtual ~ValueReader() = default;
  // The current checksum of the values. Throws Failure.
  virtual std::uint32_t checksum_of(const DatasetEntry& dataset) = 0;
  // The same of its elements `part`, in the coordinates of dataset.box. Throws Failure.
  virtual std::uint32_t checksum_of(const DatasetEntry& dataset, const Box& part) = 0;
};

struct VerifyOptions {
  bool values = true;  // read every dataset; else only those of changed files
  // Opens a file of the run. Throws Failure.
  std::function<std::unique_ptr<ValueReader>(const std::string& path)> open;
  // Called now and then with the bytes checked so far and their total.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress;
};

// `run`: the basename of a run, one of its files, or a folder with one run. Throws damaris::Error(DC_E_ARGUMENT) naming what was found.
std::string find_run(const std::string& run);

// Throws damaris::Error(DC_E_IO) for an unreadable manifest.
Verification verify(const std::string& basename, const VerifyOptions& options);

}  // namespace damaris::manifest
