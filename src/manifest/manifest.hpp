// Reads a run's manifest: what was stored, step by step, joined from the logs of its servers.
// Used by: the master file and XDMF on the server's work thread, restart, `damaris verify`, `damaris manifest`.
// Before it: the logs, which log.hpp writes. After it: consumers of the data of a step.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "delivery.hpp"
#include "entries.hpp"
#include "log_reader.hpp"

namespace damaris::manifest {

// The records about a view of the whole run: those that show the most count.
struct View {
  std::vector<ViewEntry> same;         // that show the most; several if servers end at once. Not empty
  std::uint64_t shown = 0;             // records about steps in them
  std::vector<std::uint32_t> earlier;  // checksums of previous views of the same run
};

// The first files of a run replace the steps of earlier runs from that step on (exists="append"), or all of them ("overwrite"); a
// run that stores nothing replaces nothing. The records of several servers about the same step of a run are joined.
class Manifest {
 public:
  static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

  // `basename`: "<folder>/<stem>". `before`: the generation of a run; its logs, and those of later ones, are left out.
  // `only_own`: so are those of other users.
  explicit Manifest(const std::string& basename, std::int64_t before = kAll, bool only_own = false);

  // Reads the records added since the last call, or all if a log was replaced. Returns whether any were not about views. A run without
  // logs has no records.
  // Throws damaris::Error: DC_E_IO if a log is unreadable, DC_E_VERSION if a newer version wrote it.
  bool read_on();

  const std::string& folder() const { return folder_; }
  const std::string& stem() const { return stem_; }
  bool has_logs() const { return !runs_.empty(); }

  // A sentence with log and line for each line that was changed, is unreadable or is out of place. The contents of a changed line
  // are ignored. Only for the first hundred such lines: more_damaged() counts the others.
  const std::vector<std::string>& damaged() const { return damaged_; }
  std::uint64_t more_damaged() const { return more_damaged_; }
  // The first damage in a log after its record about `step`, one of steps(): the damaged line may have contradicted it. "" if there is none.
  std::string damage_since(std::int64_t step) const;
  // The logs of the last run that has steps whose last line is being written, or was when their server was killed.
  std::vector<std::string> cut_off() const;

  // Without their files.
  const std::map<std::int64_t, StepEntry>& steps() const { return steps_; }
  // One of steps() with its files, and of their datasets those of `variable`, or all if it is "".
  // Throws damaris::Error(DC_E_IO), naming the log, if that is damaged, Failure if it cannot be read now.
  StepEntry with_files(std::int64_t step, const std::string& variable = "") const;
  // The number of records about steps of the last run.
  std::uint64_t records_of_last_run() const;
  // Why the step, one of steps(), is partial; empty if it is whole.
  std::vector<std::string> why_partial(std::int64_t step) const;
  // Servers of the run of `step`, one of steps(), that have not recorded it: they died before, or have not reached it. Names the
  // first of them and counts the others; "" if there are none.
  std::string unreported_servers(std::int64_t step) const;
  // Steps of which a run recorded that it stored nothing, and which it did not replace, with the reasons: steps() has the step of
  // an earlier run, or none.
  std::map<std::int64_t, std::vector<std::string>> not_stored() const;
  // The names of all files of all runs. Those that a damaged log names are left out.
  std::set<std::string> files() const;
  // Files of steps that later runs have replaced; some may still be there. Those that a damaged log names are left out.
  std::set<std::string> replaced() const;

  // The beginnings of the names of the regions of all servers of all runs.
  const std::set<std::string>& regions() const { return regions_; }
  // Whether the last run that has steps has ended by itself, without losing clients; and why not, for a person.
  bool has_ended() const;
  std::string why_not_ended() const;
  bool last_run_has_steps() const;
  // The lowest step that the last run has stored.
  std::optional<std::int64_t> first_stored_of_last_run() const;
  // The views of the last run that made any, by name, and whether it has recorded steps since.
  const std::map<std::string, View>& views() const { return views_; }
  bool views_follow() const { return views_follow_; }

 private:
  struct Source;  // a log, and what it has said
  struct Stored;  // a step of a run
  struct Run;     // the logs of a generation

  bool was_replaced();
  void add_new_logs();
  // Calls each(0) to each(count - 1), on several threads where that helps. Throws what they throw.
  template <class Each>
  void on_cores(std::size_t count, Each&& each) const;
  void take(Run& run, Source& source, LogRecord&& record);
  void take(Run& run, Source& source, StepRecord&& record);
  static void take(Run& run, ViewRecord&& made);
  void leave_out(Run& run, Source& source, const std::string& why);
  void join_runs();
  void replace(std::int64_t first);
  const Run* run_of(std::int64_t step) const;
  const Run* last_run() const;
  const Run* last_with_steps() const;
  std::set<std::string> names_in(const Stored& stored) const;

  std::string folder_, stem_;
  std::int64_t before_;
  bool only_own_;
  std::map<std::int64_t, std::shared_ptr<Run>> runs_;  // by generation
  std::vector<std::string> damaged_;
  std::uint64_t more_damaged_ = 0;
  std::set<std::string> regions_;
  // Joined from all runs after each reading.
  std::map<std::int64_t, StepEntry> steps_;
  std::map<std::int64_t, const Run*> run_of_, waiting_;  // by step: of steps_; of steps that their run did not store
  std::vector<std::pair<const Run*, std::int64_t>> replaced_;
  std::map<std::string, View> views_;
  bool views_follow_ = false;
};

}  // namespace damaris::manifest
