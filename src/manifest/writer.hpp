// Brings what all servers stored of a step into one line of the manifest.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: storage.hpp, and the same of other servers through messages. After it: manifest_file.hpp, run_views.hpp.
#pragma once

#include <damaris/plugin.h>

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "core/base/retry.hpp"
#include "disk_forecast.hpp"
#include "manifest_file.hpp"
#include "members.hpp"
#include "output_folder.hpp"
#include "reader.hpp"
#include "step_collector.hpp"
#include "unrecorded.hpp"
#include "views.hpp"

namespace damaris::manifest {

struct WriterOptions {
  Existing existing = Existing::overwrite;
  std::int64_t retry_ms = 0;  // how long a line that the file system refuses is tried again
  // Makes the views, on the server that keeps the manifest.
  std::function<std::unique_ptr<Views>(const EnterView&)> make_views;
};

// Where servers reach each other, server 0 keeps the manifest: a line appears when all have reported the step. Servers without a
// way to each other (detached ones of several nodes, processes in place) each add their own line to the same file.
class ManifestWriter {
 public:
  // Throws damaris::Error(DC_E_NO_OUTPUT): there is an earlier run, or the manifest cannot be made.
  // `host` and `names` outlive this object.
  ManifestWriter(const dc_host_t& host, const WriterOptions& options, const FileNames& names);

  // This server has stored `name`, perhaps its first file: the others of an earlier run that is to be overwritten go when a line of this
  // run stands in the manifest. Until then the earlier one's lines count, and a crash must leave what they name.
  void begin(const std::string& name);
  // What this server stored of a step that is complete since `since`, in step order. The line, where it is due, waits for write().
  void report(StepEntry&& record, Instant since);
  // Adds the lines that are due. Returns false while one cannot be added and is to be tried again: to be called again. Throws Failure
  // when it has been tried long enough; then the line is kept for the next.
  bool write();
  // This server has nothing of the steps up to `step` but what it has reported.
  void passed(std::int64_t step);
  // A message of the log of server `from`.
  void take(int from, const std::string& message);
  // For when nobody waits: shows what the manifest has got.
  Views::Work work();
  // After the last step: adds what is left and lets the views show it. Throws Failure when the manifest could not be written,
  // damaris::Error when the views could not.
  void finish();

  // Servers that do not know how many they are: each says in the manifest that it takes part. Recovery knows it of what it recovers.
  bool apart() const;

 private:
  bool keeps() const { return !connected_ || host_.server_index == 0; }
  // Without MPI there may be servers on other nodes that nobody here knows of.
  bool shared() const { return !connected_ || host_.communicator == nullptr; }
  bool matters_to_others() const;
  void say_end();
  void open();
  void take_hold(const std::string& record);
  void note_unrecorded(const Json& line);
  std::vector<StepEntry> unrecorded_of(const std::string& regions, int servers) const;
  std::vector<ServerEntry> unrecorded_ends_of(const std::string& regions, int servers) const;
  void remove_unrecorded(const std::string& regions, int servers) const;
  void record_what_is_not();
  void record_untold();
  std::vector<Json> lines_of_earlier(const Outline& earlier) const;
  void warn_of_moved(const std::string& record);
  void warn_of_own_job(const Outline& earlier, bool took_part) const;
  void remove_earlier();
  void replace_earlier_runs();
  void tell_keeper(const Json& message, const std::string& of) const;
  void tell_others(const Json& message) const;
  void remove_files_of_others(const std::set<std::string>& earlier) const;
  void add_due(std::vector<StepEntry>&& due, Instant since);
  void foresee(StepEntry& step);
  bool try_lines();
  void append(const Json& line, const std::function<void()>& then = {});
  std::string entry_host() const { return apart() ? host_.host_name : ""; }
  void write_lines();
  void tell(int level, const std::string& text) const { host_.log(host_.self, level, ("hdf5: " + text).c_str()); }
  void warn(const std::string& text) const { tell(1, text); }

  const dc_host_t& host_;
  const FileNames& names_;
  Existing existing_;
  RunEntry run_;
  bool connected_;  // to the other servers by messages
  bool begun_ = false;
  bool was_open_ = false;
  bool replaced_ = false;          // what earlier runs left, and their lines
  std::set<std::string> earlier_;  // this server's files of an earlier run that are to go, without those that it has made anew
  std::unique_ptr<RunHold> hold_;
  std::unique_ptr<ManifestFile> file_;  // before the hold is given back it is closed
  std::unique_ptr<Views> views_;        // of a server that keeps the manifest
  StepCollector collector_;
  Unrecorded unrecorded_;
  std::deque<StepEntry> lines_;  // to be written
  StepSpan recorded_;            // those that were, in this manifest
  Instant since_ = {};           // when the last of them was there to be written
  Retry retry_;
  DiskForecast forecast_;
  Members members_;                 // of this run, where it is apart
  std::set<std::string> prefixes_;  // of the files of all servers of this run
};

}  // namespace damaris::manifest
