// The storage of one server: writes a file for each step with data.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: plugin.cpp, the interface to the server. After it: the dataset writer and the output file.
#pragma once

#include <damaris/plugin.h>
#include <damaris/error.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "layout/place_warnings.hpp"
#include "manifest/output_folder.hpp"
#include "manifest/writer.hpp"
#include "restart/restart_reader.hpp"
#include "schedule/write_schedule.hpp"
#include "settings/settings.hpp"
#include "shared/shared_files.hpp"
#include "views/run_views.hpp"
#include "write/dataset_writer.hpp"
#include "write/step_file.hpp"

namespace damaris::hdf5 {

class Storage {
 public:
  // Checks what can be checked before the run: settings, types, names, the folder. Throws damaris::Error.
  explicit Storage(const dc_host_t& host);

  // Returns DC_OK when the step is durable under its final name and recorded; a step without datasets has no file. Returns DC_AGAIN while
  // more is left to do, and DC_WAIT while another server has the turn to write, or, with a sentence for the host, while a failed write is
  // to be retried: call again, but not after such a sentence with `ending`. Any other code, after its sentence was passed to the host,
  // means that the step, or datasets of it, are given up, which is recorded.
  int store(const dc_step_t& step);
  // Handles a message of the storage of server `from`.
  void receive(int from, const std::string& message);
  // No further step up to `step` will be passed to store().
  void passed(std::int64_t step);
  // Performs a piece of background work.
  RunViews::Work work();
  // Call after the last step. Throws Failure if the manifest is incomplete, damaris::Error if the views are.
  void finish();
  // Fills a client's block with data of an earlier run. Throws damaris::Error.
  void read(const dc_read_t& read);
  // The reader of that run. Throws damaris::Error; DC_E_CONFIG without restart="...".
  RestartReader& restart();

 private:
  //   waiting -> writing -> published -> (recorded)      a failure leads back to waiting, or to lost
  //      +----------+-----> lost ------> (recorded)      a record that fails is tried again, for as long as there is time
  enum class State { waiting, writing, published, lost };
  // The step being stored, from the first call of store() until it is recorded, or left.
  struct CurrentStep {
    manifest::StepEntry record;  // as of the last attempt
    Instant complete, seen;
    State state = State::waiting;
    std::optional<Instant> begun = {};       // the first attempt
    Instant attempt = {};                    // the last one
    std::unique_ptr<StepFile> file = {};     // of the attempt that goes on
    std::optional<Error> error = {};         // of the first dataset that was skipped in it, or of the step that is lost
    std::vector<std::string> warnings = {};  // of its blocks
    std::string trouble = {};                // why the file system takes neither the file nor its record
    // Published, or given up: only the record is missing.
    bool lacks_record() const { return state == State::published || state == State::lost; }
  };

  bool begin(const dc_step_t& step, Instant now);
  bool write(const dc_step_t& step);
  int end();
  int failed(const dc_step_t& step, const Failure& failure, Vote agreed);
  int not_recorded(const dc_step_t& step, const Failure& failure, Instant begun);
  int lose(const dc_step_t& step, dc_code code, const std::string& sentence);
  int waits(const std::string& why);
  Vote vote_after(const Failure& failure, const dc_step_t& step);
  bool stays_in_region(const Failure& failure) const;
  // Where a step in hand is called no more, it is left to recovery.
  bool has_unstored_steps() const { return has_left_steps_ || current_.has_value(); }
  // There is no region with a name, so `damaris recover` would find nothing.
  bool in_place() const { return host_.regions == nullptr || host_.regions[0] == '\0'; }
  bool is_last_try(const dc_step_t& step) const { return step.ending != 0 && in_place(); }
  void finish_record(const dc_step_t& step);
  void warn_of_replaced(const std::string& file);
  void share();
  manifest::FileEntry write_shared_file(const dc_step_t& step);
  void publish(StepFile& file, const dc_step_t& step);
  void skip(const NotStorable& why);
  void log(int level, const std::string& text) const { host_.log(host_.self, level, ("hdf5: " + text).c_str()); }

  const dc_host_t& host_;
  Settings settings_;
  manifest::FileNames names_;
  DatasetWriter writer_;
  std::optional<manifest::ManifestWriter> manifest_;  // created after the folder was checked
  std::unique_ptr<RunViews> views_;
  std::optional<RestartReader> restart_;
  bool continues_ = false;               // restart="..." is the basename of this run
  std::unique_ptr<SharedFiles> shared_;  // nullptr: this server writes its own files
  std::unique_ptr<WriteSchedule> schedule_;
  std::optional<CurrentStep> current_;
  bool has_left_steps_ = false;       // to another recovery
  std::set<std::uint32_t> unplaced_;  // variables, see unplaced_blocks()
  Retry retry_;
};

}  // namespace damaris::hdf5
