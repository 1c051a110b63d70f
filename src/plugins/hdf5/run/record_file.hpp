// The text file of the commit record, open for adding lines: each line is whole, and durable when append returns.
// Used by: the hdf5 plugin on the server's dispatch thread, of one process or of several that share the file.
// Before it: commit_log.hpp. After it: run_record.hpp reads it.
#pragma once

#include <damaris/error.hpp>

#include <chrono>
#include <string>

#include "../settings.hpp"
#include "record.hpp"

namespace damaris::hdf5 {

// Says that a run may not begin because of this record.
Error earlier_record(const std::string& path);

class RecordFile {
 public:
  // Opens or makes the file, empties it unless `existing` is append, and adds the run's line. With `shared` other processes may have
  // it open for the same run: then only the first of them does so. Throws Failure, or damaris::Error(DC_E_NO_OUTPUT) for a file of an
  // earlier run and `existing` refuse. `timeout`: for another process that writes to it, here and in append.
  RecordFile(std::string path, Existing existing, bool shared, const RunRecord& run,
             std::chrono::milliseconds timeout = std::chrono::seconds(30));
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  bool is_first() const { return first_; }
  // The file was removed, with its folder for instance: a new object begins a new one.
  bool is_gone() const;
  // Throws Failure; nothing of the line is left in the file then.
  void append(const Json& line);

 private:
  bool be_first(bool shared) const;
  void start(Existing existing, const RunRecord& run);
  void cut_broken_line();

  std::string path_;
  std::chrono::milliseconds timeout_;
  int descriptor_;
  bool first_ = false;
};

}  // namespace damaris::hdf5
