// Re-checks the files of a run against its commit record: files by their bytes, datasets by their values.
// Used by: `damaris verify`, one thread.
// Before it: the command line. After it: run_record.hpp, HDF5.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "run_record.hpp"
#include "view_files.hpp"

namespace damaris::hdf5 {

// Something that is not as the record says. `file` is "" for what concerns a whole iteration, `dataset` for a whole file; `step` is -1 for
// what belongs to none: the record itself, or with a `file` a view of the run.
struct Finding {
  std::int64_t step = 0;
  std::string file, dataset;
  std::string what;  // "its values are damaged", "it is missing", ...
};

struct Verification {
  std::uint64_t steps = 0, files = 0, datasets = 0, bytes = 0;
  std::vector<Finding> damaged;
  std::uint64_t uncovered = 0;            // lines of the record without a checksum: an earlier version wrote them
  std::vector<Finding> partial;           // iterations that are not complete, with the reason: so when they were written
  std::vector<std::string> not_recorded;  // files of the run's name that no line tells of
  std::vector<std::string> noted;         // files that no line tells of, while notes of their servers do: unrecorded.hpp
  std::vector<std::string> replaced;      // files whose iterations a later run has replaced
  std::vector<ViewFiles> views;           // what a read of each opens
  std::vector<std::string> regions;       // how the names of its runs' regions begin
};

struct VerifyOptions {
  bool values = true;  // read every dataset; else only the bytes of the files
  // Called now and then with the bytes checked so far and in all.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress;
};

// `run`: the record, or the basename of a run, or a folder with one record. Throws damaris::Error(DC_E_ARGUMENT) naming what is there.
std::string find_record(const std::string& run);

// For a program that only reads, first of all: HDF5 1.10 keeps memory of what it read of a damaged file, and says so at the exit.
void close_nothing_at_exit();

// Throws damaris::Error(DC_E_IO) for a record that cannot be read.
Verification verify(const std::string& record, const VerifyOptions& options);

}  // namespace damaris::hdf5
