// Merges the reports of all servers about a step into one line of the manifest.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: storage.hpp, and messages of other servers. After it: manifest_file.hpp, run_views.hpp.
#pragma once

#include <damaris/plugin.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/failure.hpp"
#include "disk_forecast.hpp"
#include "manifest_file.hpp"
#include "members.hpp"
#include "output_folder.hpp"
#include "own_files.hpp"
#include "reader.hpp"
#include "shard.hpp"
#include "step_collector.hpp"
#include "unrecorded.hpp"
#include "views.hpp"

namespace damaris::manifest {

using CheckEarlier = std::function<void(const std::vector<std::string>& names)>;

// For a recovery: steps that the dead server had given up, and whose lines the manifest may lack.
struct GivenUpSteps {
  std::vector<std::int64_t> steps;
  std::optional<std::pair<std::int64_t, std::int64_t>> among;  // first and last: any of these
};

struct WriterOptions {
  Existing existing = Existing::automatic;
  std::optional<std::int64_t> retry_ms = 0;  // how long at most to retry a line that the file system refuses
  GivenUpSteps given_up = {};
  // Gets the names of this server's files of earlier runs before this run has a line; may refuse to start by throwing.
  CheckEarlier check_earlier;
  // Creates the views, on the server that keeps the manifest.
  std::function<std::unique_ptr<Views>(const RecordView&)> make_views;
  std::int64_t end_wait_ms = 30'000;  // at the end, for the lock and for what the file system refuses, of all steps together
};

// If servers are connected by messages, server 0 keeps the manifest, and a line is added when all have reported the step.
// Unconnected servers (detached ones of several nodes, processes in place) each add their own lines to the same file.
class ManifestWriter {
 public:
  // Throws damaris::Error(DC_E_NO_OUTPUT) if there is an earlier run, or the manifest cannot be created.
  // `host` and `names` must outlive this object.
  ManifestWriter(const dc_host_t& host, const WriterOptions& options, const FileNames& names);

  // Call before storing each file.
  void prepare() { own_files_.prepare(); }
  // Call after storing each file `name`. The remaining files of an earlier run that is to be overwritten are removed when the
  // manifest has a line of this run. Until then the earlier lines are valid, and a crash must leave the files that they name. Returns
  // whether it has replaced a file that this server had stored in this run before it came back.
  bool begin(const std::string& name) noexcept { return own_files_.stored(name); }
  // Reports what this server stored of a step that was complete at `since`, in step order. If its line is due, write() adds it. If it
  // throws, `record` is not reported, and as before but for its reporters.
  void report(StepEntry&& record, Instant since);
  // Adds the lines that are due. Returns false if a line could not be added and will be retried: call it again. Throws Failure when
  // the retry time is over, or with `last` at once; the line is then kept and added with the next one, and noted for recovery beside the
  // manifest. If it cannot be noted either, a line that names files is retried further.
  bool write(bool last = false);
  // Why a line could not be added, after write() has returned false.
  const std::string& refusal() const { return refusal_; }
  // Whether a line is neither in the manifest nor, where another server must report the step first, in the list for recovery.
  bool owes_lines() const { return !lines_.empty() || (unrecorded_.has_waiting() && !(keeps_manifest() && collector_.is_empty())); }
  // This server will report no further step up to `step`.
  void passed(std::int64_t step);
  // Handles a message of the manifest writer of server `from`.
  void receive(int from, const std::string& message);
  // Background work: updates the views.
  Views::Work work();
  // After the last step: adds the remaining lines and updates the views. Throws Failure if the manifest could not be written,
  // damaris::Error if the views could not. `leaves_steps`: some were left to recovery, so the manifest does not say that this server has
  // ended.
  void finish(bool leaves_steps);

  // Whether servers are independent and do not know their number: each records in the manifest that it joined. Recovery knows the
  // number.
  bool apart() const;

 private:
  bool keeps_manifest() const { return !connected_ || host_.server_index == 0; }
  // Without MPI there may be unknown servers on other nodes.
  bool shared() const { return !connected_ || host_.communicator == nullptr; }
  bool joins(const std::string& record, bool again) const;
  void append_joined();
  void append_end();
  void insist_on_end();
  void open(const CheckEarlier& check_earlier = {});
  void acquire_lock(const std::string& record);
  std::chrono::milliseconds end_left();
  void wait_for_lock(std::chrono::milliseconds at_most);
  void add_unrecorded(const Json& line);
  std::vector<UnrecordedSteps> unrecorded_lists() const;
  // Whether each step is noted when it is reported, not only if the manifest refuses it.
  bool notes_all() const { return connected_ && host_.server_count > 1; }
  bool note_lines();
  bool must_insist();
  void record_recovered_steps(const GivenUpSteps& given_up);
  void record_given_up(const GivenUpSteps& given_up);
  void record_steps_of_dead_servers();
  std::vector<Json> lines_of_earlier(const std::vector<UnrecordedSteps>& lists) const;
  void warn_of_moved(const std::string& record);
  void warn_of_own_job(const Outline& earlier, bool took_part) const;
  void replace_earlier_runs();
  bool send_to_keeper(const std::string& message, const std::string& of) const;
  void send_to_others(const Json& message) const;
  void remove_files_of_others() const;
  void collect_whole(StepEntry&& record, Instant since);
  void take_due();
  void forecast(DueStep& due);
  bool try_lines(bool last = false);
  bool insist(const Failure& failure);
  void append(const std::function<std::vector<Json>()>& lines, const std::function<void()>& then = {});
  void append(const std::vector<Json>& lines);
  void append(const Json& line, const std::function<void()>& then = {});
  std::string entry_host() const { return apart() ? host_.host_name : ""; }
  void write_lines();
  void describe(DueStep& due);
  void append_step(DueStep& due);
  void log(int level, const std::string& text) const { host_.log(host_.self, level, ("hdf5: " + text).c_str()); }
  void warn(const std::string& text) const { log(1, text); }

  const dc_host_t& host_;
  const FileNames& names_;
  Existing existing_;  // not automatic
  bool requires_end_;  // of an earlier run
  RunEntry run_;
  bool connected_;  // to the other servers by messages
  bool was_open_ = false;
  bool replaced_ = false;  // the files and lines of earlier runs
  OwnFiles own_files_;
  std::chrono::milliseconds lock_wait_;
  std::int64_t end_wait_ms_;
  std::optional<Deadline> end_;  // since the first step of the end
  std::unique_ptr<RunLock> lock_;
  std::unique_ptr<ManifestFile> file_;  // after lock_: it is closed before the lock is released
  std::unique_ptr<Views> views_;        // on the server that keeps the manifest
  StepCollector collector_;
  Shard shard_;
  std::string facts_;  // of this server's files, as it last reported them
  UnrecordedSteps unrecorded_;
  std::deque<DueStep> lines_;            // to be written
  std::size_t noted_ = 0;                // that many of the first ones are in unrecorded_, unless it has all steps
  std::string note_refusal_;             // why not
  StepSpan recorded_;                    // steps recorded in the current manifest file
  Instant since_ = {}, due_since_ = {};  // when the last of lines_ became due, and the last report came
  Retry retry_;
  std::string refusal_;
  DiskForecast forecast_;
  Members members_;                 // of this run, if its servers are independent
  std::set<std::string> prefixes_;  // of the files of all servers of this run
};

}  // namespace damaris::manifest
