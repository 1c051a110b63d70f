// Reads the data of an earlier run, for clients that continue it, and tells in the server's log how far it is when that takes long.
// Used by: the hdf5 plugin's on_read and on_last_step, on the server's work thread; each server reads independently.
// Before it: the manifest and the files of the run named by restart="...". After it: the block of the requesting client.
#pragma once

#include <damaris/plugin.h>

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "../file/handle.hpp"
#include "../layout/pieces.hpp"
#include "core/base/clock.hpp"
#include "manifest/manifest.hpp"
#include "manifest/stored_parts.hpp"

namespace damaris::hdf5 {

// Tells what a client reads and how far it is, in a line every ten seconds.
class ReadProgress {
 public:
  using Log = std::function<void(const std::string&)>;
  explicit ReadProgress(Log log = {}, Clock::duration interval = std::chrono::seconds(10))
      : log_(std::move(log)), interval_(interval) {}

  // A request: it goes on with the one before if that was of the same client for the same variable and step.
  void begin(const dc_read_t& read, Instant now);
  // So many bytes of the request, or of a file that is checked before it is read, are done.
  void took(std::uint64_t bytes, Instant now);
  void checks(const std::string& file, std::uint64_t done, std::uint64_t bytes, Instant now);

 private:
  void tell(const std::string& how_far, Instant now);

  Log log_;
  Clock::duration interval_;
  std::tuple<std::uint32_t, std::int64_t, std::int32_t> what_ = {0, -1, -1};  // variable, step, client
  std::string name_;
  Instant begun_ = {}, told_ = {}, last_ = {};
  std::uint64_t bytes_ = 0;
};

// Reads a box of one stored dataset into a box of memory, with the values that the simulation wrote.
class DatasetReader {
 public:
  // `path`: of the file. Throws Failure if it cannot be opened as HDF5.
  explicit DatasetReader(const std::string& path);

  // Fills the part's box of `to`, an array in the part's coordinates. Throws Failure, or damaris::Error: DC_E_TYPE if the element type differs,
  // DC_E_IO if the extents differ from the manifest.
  void read(const manifest::StoredPart& part, const dc_variable_info_t& variable, const Array& to) const;

 private:
  File file_;
};

class RestartReader {
 public:
  // `basename`: of that run, relative to the current working directory. Reads nothing yet. `before`: the generation of the
  // current run, if it has the same basename: its other processes may have begun to store.
  explicit RestartReader(const std::string& basename, std::int64_t before = manifest::Manifest::kAll);
  // Gets a line now and then while a read takes long.
  void report_to(ReadProgress::Log log) { progress_ = ReadProgress(std::move(log)); }

  // Fills read.data. Throws damaris::Error naming the step, the file or the missing part: DC_E_NOT_STORED, DC_E_SHAPE, DC_E_TYPE, DC_E_IO.
  void read(const dc_read_t& read);
  // Marks `step` and all later ones as replaced; only the first call has an effect.
  void replace_from(std::int64_t step);
  // The last complete step with the variable, or with any if it is NULL. Throws damaris::Error: DC_E_NOT_STORED; DC_E_IO, also if a damaged
  // line may record a later step.
  std::int64_t last_step(const dc_variable_info_t* variable);

 private:
  std::string basename() const { return manifest_.folder() + "/" + manifest_.stem(); }
  const std::map<std::int64_t, manifest::StepEntry>& steps();
  void require_step(const dc_read_t& read);
  const manifest::StepEntry& files_of(std::int64_t step, const std::string& variable);
  bool is_replaced(std::int64_t step) const { return replaced_from_ && step >= *replaced_from_; }
  void require_undamaged(std::int64_t step) const;
  std::string why_changed(std::int64_t step) const;
  void read_parts(const manifest::StepEntry& step, const dc_read_t& read);
  void check_file(const manifest::FileEntry& file, const std::string& path);

  manifest::Manifest manifest_;
  ReadProgress progress_;
  std::int64_t before_;
  bool has_read_ = false;
  std::optional<std::int64_t> replaced_from_;
  std::optional<manifest::StepEntry> found_;  // by files_of(), for:
  std::int64_t found_step_ = 0;
  std::string found_variable_;
  // Identity, size and modification time of a file.
  struct FileState {
    dev_t device;
    ino_t inode;
    off_t bytes;
    time_t seconds;
    long nanoseconds;
    bool operator==(const FileState& other) const {
      return device == other.device && inode == other.inode && bytes == other.bytes && seconds == other.seconds &&
             nanoseconds == other.nanoseconds;
    }
  };
  static FileState state_of(const std::string& path);
  std::map<std::string, FileState> checked_;  // files whose checksum was verified
};

}  // namespace damaris::hdf5
