// What an earlier run stored, for clients that go on from it.
// Used by: the hdf5 plugin's on_read and on_last_step, on the server's dispatch thread; each server reads by itself.
// Before it: the manifest and the files of the run that restart="..." names. After it: the block of the client that asked.
#pragma once

#include <damaris/plugin.h>
#include <sys/types.h>

#include <map>
#include <string>
#include <tuple>

#include "manifest/reader.hpp"

namespace damaris::hdf5 {

class RestartReader {
 public:
  // `basename` as that run's, relative to the working directory of now. Nothing is read yet. `without_last_run`: the last run of the manifest
  // is the one that reads, which other processes of it may have begun to store.
  explicit RestartReader(const std::string& basename, bool without_last_run = false);

  // Fills read.data. Throws damaris::Error naming the step, the file or the part that is missing: DC_E_NOT_STORED, DC_E_SHAPE, DC_E_TYPE,
  // DC_E_IO.
  void read(const dc_read_t& read);
  // What it holds of that step, and of later ones, has been replaced; the first call counts.
  void replace_from(std::int64_t step);
  // The last complete step that holds the variable, or anything if it is NULL; DC_E_IO where a later one may stand in a damaged line.
  // Throws damaris::Error: DC_E_NOT_STORED, DC_E_IO.
  std::int64_t last_step(const dc_variable_info_t* variable);

 private:
  const std::map<std::int64_t, manifest::StepEntry>& steps();
  const manifest::StepEntry& step_of(const dc_read_t& read);
  bool is_replaced(std::int64_t step) const { return replaced_from_ && step >= *replaced_from_; }
  void require_no_doubt(std::int64_t step) const;
  void read_parts(const manifest::StepEntry& step, const dc_read_t& read);
  void check_file(const manifest::FileEntry& file, const std::string& path);

  manifest::Reader record_;
  bool without_last_run_;
  bool has_record_ = false;
  std::optional<std::int64_t> replaced_from_;
  // Which file, its size, when it was written to.
  struct Looked {
    dev_t device;
    ino_t inode;
    off_t bytes;
    time_t seconds;
    long nanoseconds;
    bool operator==(const Looked& other) const {
      return device == other.device && inode == other.inode && bytes == other.bytes && seconds == other.seconds &&
             nanoseconds == other.nanoseconds;
    }
  };
  static Looked look_at(const std::string& path);
  std::map<std::string, Looked> checked_;  // files whose bytes are those that were recorded
};

}  // namespace damaris::hdf5
