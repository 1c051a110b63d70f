// Reads a run's manifest: what was stored, step by step.
// Used by: the master file and XDMF on the server's work thread, restart, `damaris verify`.
// Before it: the text file <basename>.jsonl, which writer.hpp writes. After it: consumers of the data of a step.
#pragma once

#include <sys/types.h>

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "completeness.hpp"
#include "end_of_run.hpp"
#include "entries.hpp"
#include "sealed_line.hpp"
#include "shard_reader.hpp"

namespace damaris::manifest {

// What a process must know of a manifest before it appends to it.
struct Outline {
  // Whether a server with regions of that prefix is, or was, one of the last run's.
  bool has_server(const std::string& its_regions) const { return its_regions == regions || joined.count(its_regions) > 0; }

  std::string run, job, regions, identity;  // of the last run
  std::set<std::string> joined;             // the prefixes of the regions of servers that joined it
  int servers = 0;                          // of the last run
  std::uint64_t begins_at = 0;              // byte offset of the last run's first line
  std::uint64_t replaced_until = 0;         // byte offset: a later run has replaced all lines before
  bool mentions_steps = false;              // or has unreadable lines
  bool has_ended = false;                   // the last run that has steps
  bool is_unknown = false;                  // the line of the last run is unreadable: nothing else is known of it
};

// Reads the file line by line and keeps none: a manifest may be larger than the memory a server may use.
Outline outline_of(const std::string& path);

// Adds the names of the step's files, and of the shards that describe them. Throws damaris::Error(DC_E_IO) if a shard is unreadable.
void add_names_of(const StepEntry& step, ShardReader& shards, std::set<std::string>& names);

// All files that the manifest names, of any run, and its shards, without the files that an unreadable shard names; none if the manifest is
// unreadable.
std::set<std::string> files_in_manifest(const std::string& path);

// The lowest step that the last run has stored, as far as its lines are readable; none if there is none.
std::optional<std::int64_t> first_stored_step_of_last_run(const std::string& path);

// The lines about a view of the whole run: the newest one counts.
struct ViewState {
  ViewEntry newest;
  std::vector<std::uint32_t> earlier;  // checksums of previous views of the same run
};

// The first files of a run replace the steps of earlier runs from that step on (exists="append"), or all of them ("overwrite"); a
// run that stores nothing replaces nothing. After an unreadable line of a run, an unknown run begins: its steps replace those of
// earlier runs, and none of them counts as complete. Lines of several servers about the same step of a run are merged. A last line
// without newline is still being written and is ignored, as are unreadable lines.
class Reader {
 public:
  explicit Reader(std::string path);

  // Reads the lines added since the last call, or all if the file was replaced. Returns whether any were not about views. A missing
  // file has no lines.
  // Throws damaris::Error: DC_E_IO if the file is unreadable, DC_E_VERSION if a newer version wrote it.
  // `end`: byte offset; lines that begin at or after it are not read.
  bool read_on(std::uint64_t end = std::numeric_limits<std::uint64_t>::max());
  // A sentence with file and line for each line that was changed, is unreadable or is out of place. The contents of a changed line
  // are ignored. Only for the first hundred such lines: more_damaged() counts the others.
  const std::vector<std::string>& damaged() const { return damaged_; }
  std::uint64_t more_damaged() const { return more_damaged_; }
  // The first damage after the first line about `step`, one of steps(): the damaged line may have contradicted that line. "" if
  // there is no such damage.
  std::string damage_since(std::int64_t step) const;
  // The number of lines that an earlier version wrote without a checksum: changes to them cannot be detected.
  std::uint64_t uncovered() const { return seals_.uncovered(); }
  // The views of the last run that made any, by name.
  const std::map<std::string, ViewState>& views() const { return views_; }
  // Whether the last run has recorded steps since it last wrote a view.
  bool views_follow() const { return views_follow_; }
  // Files of steps that later runs have replaced; some may still be there. Those that an unreadable shard names are left out.
  std::set<std::string> replaced() const;
  // Whether the last line has no newline: it is being written, or its writer was killed.
  bool is_cut_off() const { return is_cut_off_; }

  // Without the files that shards describe.
  const std::map<std::int64_t, StepEntry>& steps() const { return steps_; }
  // One of steps() with its files, and of their datasets those of `variable`, or all if it is "". Reads what the shards say of this step.
  // Throws damaris::Error(DC_E_IO), naming the shard, if that is missing or damaged, Failure if it cannot be read now.
  StepEntry with_files(std::int64_t step, const std::string& variable = "") const;
  // A run whose line is unreadable has an empty entry.
  const std::vector<RunEntry>& runs() const { return runs_; }
  // What the lines of all runs, and of the servers that joined them, say are the prefixes of the names of their regions.
  const std::set<std::string>& regions() const { return regions_; }
  // Whether the last run that has steps has ended: one that has stored nothing says nothing of what is there.
  const EndOfRun& end() const { return last_run_has_steps_ ? end_ : end_with_steps_; }
  // Whether the last run has recorded a step, with or without data.
  bool last_run_has_steps() const { return last_run_has_steps_; }
  // Servers of the run of `step`, one of steps(), that have not reported it: they died before, or have not reached it. Names the
  // first of them and counts the others; "" if there are none.
  std::string unreported_servers(std::int64_t step) const;
  // Why the step is incomplete; empty if it is complete.
  std::vector<std::string> why_partial(std::int64_t step) const;
  // Steps of which a run recorded that it stored nothing, and which it did not replace, with the reasons: steps() has the step of
  // an earlier run, or none. Those of a run without any file are dropped at the first file of the next run.
  std::map<std::int64_t, std::vector<std::string>> not_stored() const;
  const std::string& path() const { return path_; }
  // The folder of the files.
  std::string folder() const;

 private:
  void take_line(const std::string& line);
  void take_content(const std::string& line);
  void begin_run(RunEntry&& run, Completeness&& completeness, const EndOfRun& end);
  void leave_out_content(const std::string& line, const std::string& why);
  void take_view(ViewEntry&& view);
  void leave_out(const std::string& why);
  void take_step(StepEntry&& record);
  void wait_for_files(StepEntry&& record);
  void replace_from(std::int64_t first_step);
  void add(StepEntry&& record);
  void judge();
  bool file_was_replaced();

  std::string path_;
  dev_t device_ = 0;  // of the file read
  ino_t inode_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t line_ = 0;
  SealedLines seals_;
  std::vector<std::string> damaged_;
  std::uint64_t more_damaged_ = 0;
  // Steps known when damage was found -> line of the first damage and its index in damaged_, or the size of damaged_ if it is full.
  std::map<std::int64_t, std::pair<std::uint64_t, std::size_t>> doubtful_;
  std::vector<std::int64_t> undoubted_;  // steps added since; some may have been replaced
  std::vector<StepEntry> replaced_;
  std::shared_ptr<ShardReader> shards_;  // made by the first use
  bool is_cut_off_ = false;
  std::vector<RunEntry> runs_;
  std::set<std::string> regions_;
  std::vector<Completeness> completeness_ = {Completeness()};  // by number of runs begun
  // Of the last run, and of the last one before it that has steps. Lines before the first run are of an earlier version.
  EndOfRun end_ = EndOfRun::of_earlier_version(), end_with_steps_ = {};
  bool last_run_has_steps_ = false;
  std::optional<std::int64_t> first_;  // the lowest step with files of the last run
  struct Waiting {
    std::size_t run = 0;  // as in run_of_
    bool run_has_files = false;
    StepEntry record;
  };
  std::map<std::int64_t, Waiting>
      waiting_;  // steps without files, recorded before their run's first file, while an earlier run has steps
  std::map<std::int64_t, StepEntry> steps_;
  std::map<std::string, ViewState> views_;
  std::size_t view_lines_ = 0;
  bool views_follow_ = false;
  std::map<std::int64_t, std::size_t> run_of_;  // step -> number of runs begun when it was stored
};

}  // namespace damaris::manifest
