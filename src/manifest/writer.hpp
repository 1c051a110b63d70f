// Keeps the log of this server, and what belongs to it: the files of earlier runs that this run replaces, the forecast of a full disk.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: storage.hpp. After it: log.hpp.
#pragma once

#include <damaris/plugin.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "disk_forecast.hpp"
#include "log.hpp"
#include "output_folder.hpp"
#include "start.hpp"

namespace damaris::manifest {

struct WriterOptions {
  Existing existing = Existing::automatic;
  bool owns_files = true;  // else another server creates the files to which this one contributes
  // Gets the names of this server's files of earlier runs; may refuse to start by throwing.
  std::function<void(const std::vector<std::string>& names)> check_earlier;
};

class ManifestWriter {
 public:
  // Throws damaris::Error(DC_E_NO_OUTPUT) if there is an earlier run in the way, or the log cannot be created.
  // `host` and `names` must outlive this object.
  ManifestWriter(const dc_host_t& host, const WriterOptions& options, const FileNames& names);

  // Of this run.
  std::int64_t generation() const { return log_name_.generation; }

  // Call before storing each file: reserves room for the record. Throws Failure.
  void prepare() { log_->reserve(); }
  // Call after storing each file `name`: it does not belong to an earlier run any more. Returns whether it has replaced a file that this
  // server had stored in this run before it came back.
  bool begin(const std::string& name) noexcept;
  // Records what this server has stored of a step, in step order; durable on return. Throws Failure: call it again, nothing has changed.
  void record(StepEntry& step);
  // A recovery could not store a step, and leaves it to another one.
  void leave_step() { has_left_step_ = true; }
  // Records a new view of the run.
  void record(const ViewEntry& view, std::uint64_t shown);
  // After the last step. `has_unstored_steps`: some were left to recovery, so the log does not say that this server has ended. Calls
  // `finish_views` where this server ends the run. Throws Failure if the end cannot be recorded, and what `finish_views` throws.
  void finish(bool has_unstored_steps, const std::function<void()>& finish_views);

 private:
  void undo_start() noexcept;
  void find_earlier_files(const WriterOptions& options);
  void find_own_files();
  void replace_earlier_runs();
  void remove_files_of_others();
  void forecast(StepEntry& step);
  void record_end();
  bool ends_run() const;
  void end_run(const std::function<void()>& finish_views);
  bool leaves_no_trace(bool has_unstored_steps) const;
  void write_list() const;
  std::string path_of(const LogName& log) const { return names_.folder() + "/" + log.of(names_.stem()); }
  void log(int level, const std::string& text) const { host_.log(host_.self, level, ("hdf5: " + text).c_str()); }

  const dc_host_t& host_;
  const FileNames& names_;
  Existing existing_;
  RunEntry run_;
  std::unique_ptr<Log> log_;
  LogName log_name_;
  bool began_ = false;         // the run
  bool is_new_ = false;        // this process made the log
  bool has_recorded_ = false;  // a step
  DiskForecast forecast_;
  bool replaced_ = false, has_left_step_ = false;
  std::set<std::string> of_this_run_;  // files that this server had stored before it came back
  std::set<std::string> earlier_;      // to be removed once this server has stored a file
  std::optional<std::int64_t> last_step_;
};

}  // namespace damaris::manifest
