// The storage of one server: a file for each step that has data.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: plugin.cpp, the edge to the server. After it: the writer of datasets and the output file.
#pragma once

#include <damaris/plugin.h>
#include <damaris/error.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/retry.hpp"
#include "file/hdf5_file.hpp"
#include "layout/place_warnings.hpp"
#include "manifest/output_folder.hpp"
#include "manifest/writer.hpp"
#include "restart/restart_reader.hpp"
#include "schedule/write_schedule.hpp"
#include "settings/settings.hpp"
#include "shared/shared_files.hpp"
#include "write/dataset_writer.hpp"

namespace damaris::hdf5 {

class Storage {
 public:
  // Checks all that can be checked before the run: settings, types, names, the folder. Throws damaris::Error.
  explicit Storage(const dc_host_t& host);

  // Returns DC_OK when the step is durable under its final name, and host and manifest know of it; without datasets there is no file.
  // DC_WAIT while another server has the turn, and while the file system refuses what it may take later: call again. Another code, with the
  // sentence handed to the host: nothing of the step is stored, and no file left behind.
  // Throws damaris::Error where all but the datasets that the manifest's `failures` name is stored, Failure where the manifest lacks the line.
  int store(const dc_step_t& step);
  // A message of the storage of server `from`.
  void take(int from, const std::string& message);
  // Of the steps up to `step` no more comes than what store() was given.
  void passed(std::int64_t step);
  // A piece of what nobody waits for.
  manifest::Views::Work work() { return manifest_->work(); }
  // After the last step. Throws Failure when the manifest is not complete, damaris::Error when the views are not.
  void finish() { manifest_->finish(); }
  // Fills what a client asks for from what an earlier run stored. Throws damaris::Error.
  void read(const dc_read_t& read);
  // That run. Throws damaris::Error; DC_E_CONFIG when restart="..." names none.
  RestartReader& restart();

 private:
  // The step that is due, from when it was first seen until it is recorded.
  struct InHand {
    manifest::StepEntry record;  // as of the last try
    Instant complete, seen;
    std::optional<Instant> begun = {};  // the first try
    bool written = false;               // its file is there, or it has none
    std::optional<Error> refused = {};  // why the first dataset of the last try is not in it that cannot be stored as asked
  };

  int try_to_write(const dc_step_t& step, Instant now);
  int failed(const dc_step_t& step, const Failure& failure, Instant begun);
  int give_up(const dc_step_t& step, dc_code code, std::string sentence);
  void report(const dc_step_t& step);
  void warn(std::vector<PlaceWarning>&& warnings);
  manifest::FileEntry write_file(const dc_step_t& step);
  void share();
  manifest::FileEntry write_own_file(const dc_step_t& step);
  void write_all(Hdf5File& file, const dc_step_t& step, manifest::FileEntry& entry);
  void write_piece(Hdf5File& file, const Piece& piece, const dc_step_t& step, manifest::DatasetEntry& entry);
  void refuse(const Refused& refused);

  const dc_host_t& host_;
  Settings settings_;
  manifest::FileNames names_;
  DatasetWriter writer_;
  std::optional<manifest::ManifestWriter> manifest_;  // made when the folder has been looked at
  std::optional<RestartReader> restart_;
  bool continues_ = false;               // the run to read from has the basename of this one
  std::unique_ptr<SharedFiles> shared_;  // nullptr: this server writes its own files
  std::unique_ptr<WriteSchedule> schedule_;
  std::optional<InHand> in_hand_;
  PlaceWarnings place_warnings_;
  Retry retry_;
};

}  // namespace damaris::hdf5
