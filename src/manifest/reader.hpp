// A run's manifest as a reader sees it: what was stored, step by step.
// Used by: the master file and XDMF on the server's dispatch thread, restart, `damaris verify`.
// Before it: the text file <basename>.jsonl, which writer.hpp writes. After it: what looks for the data of a step.
#pragma once

#include <sys/types.h>

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "completeness.hpp"
#include "entries.hpp"
#include "sealed_line.hpp"

namespace damaris::manifest {

// What a process that is to add to a manifest has to know of it.
struct Outline {
  std::string run, job, regions, identity;  // of the last run
  int servers = 0;                          // of the last run
  std::uint64_t begins_at = 0;              // byte where the last run's first line stands
  std::uint64_t replaced_until = 0;         // bytes: all lines before were replaced by a later run
  bool mentions_steps = false;              // or holds lines that cannot be read
  bool has_joined = false;                  // others have, beside the server that began the last run
  bool is_unknown = false;                  // there is a last run, and its line cannot be read: nothing else is known of it
};

// Goes through the file a line at a time and keeps nothing of it: a manifest may be larger than what a server may take.
Outline outline_of(const std::string& path);

// All that it names, of any run. A manifest that cannot be read names none.
std::set<std::string> files_in_manifest(const std::string& path);

// What the manifest says of a file that shows the run as a whole: the newest line counts.
struct ViewState {
  ViewEntry newest;
  std::vector<std::uint32_t> earlier;  // checksums of the same run's views before
};

// With its first files a run replaces what earlier runs stored from that step on (exists="append"), or all of it ("overwrite"); one that
// stores nothing replaces nothing.
// Behind a line of a run that cannot be read an unknown run begins: what it stored takes the place of earlier runs' steps, and none
// of it counts as complete. Lines of several servers about one step of a run are merged. A last line without its end is one that is being written: left out, as
// is one that cannot be read.
class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  // Takes what was added since the last call; all, where another file has taken the place of the one that was read. Returns whether there was anything but lines about views. A file that is not there has no lines.
  // Throws damaris::Error: DC_E_IO for one that is there and cannot be read, DC_E_VERSION for that of a newer version.
  // `end`: byte before which the last line is to begin.
  bool read_on(std::uint64_t end = std::numeric_limits<std::uint64_t>::max());
  // Of each line that has changed, that cannot be read or that is not where it was added a sentence with file and line. What stands in a
  // line that has changed is left out. Only of the first hundred such lines: more_damaged() counts the others.
  const std::vector<std::string>& damaged() const { return damaged_; }
  std::uint64_t more_damaged() const { return more_damaged_; }
  // What is damaged where a line may have stood that says something else of `step`, one of steps(): of the lines from the first that
  // tells of the step on. "": nothing is.
  std::string doubt_about(std::int64_t step) const;
  // Lines that an earlier version has written without a checksum: nobody can say whether they have changed.
  std::uint64_t uncovered() const { return seals_.uncovered(); }
  // The views of the last run that made any, by name.
  const std::map<std::string, ViewState>& views() const { return views_; }
  // Files of steps that later runs have replaced; some may still be there.
  const std::set<std::string>& replaced() const { return replaced_; }
  // Whether the last line has no end: it is being written, or its writer was killed.
  bool is_cut_off() const { return is_cut_off_; }

  const std::map<std::int64_t, StepEntry>& steps() const { return steps_; }
  // For a caller that reads nothing else of it afterwards.
  std::map<std::int64_t, StepEntry> take_steps() && { return std::move(steps_); }
  // One whose line cannot be read has an empty entry.
  const std::vector<RunEntry>& runs() const { return runs_; }
  // Whether the last run has recorded a step, with data or without.
  bool last_run_told() const { return last_run_told_; }
  // Servers of the run that stored `step`, one of steps(), without a word about it: they died before, or are not as far.
  // The first of them are named, the others counted; "": there are none.
  std::string silent_servers(std::int64_t step) const;
  // Why it is not complete; empty: it is.
  std::vector<std::string> why_partial(std::int64_t step) const;
  // Steps that a later run has recorded, stored nothing of and did not replace, with the reasons: steps() has an earlier run's, or
  // none. Those of a run without any file go with the first file of the next one.
  std::map<std::int64_t, std::vector<std::string>> not_stored() const;
  const std::string& path() const { return path_; }
  // The folder the files lie in.
  std::string folder() const;

 private:
  void take_line(const std::string& line);
  void take_content(const std::string& line);
  void begin_run(RunEntry&& run, Completeness&& completeness);
  void leave_out_content(const std::string& line, const std::string& why);
  void take_view(ViewEntry&& view);
  void leave_out(const std::string& why);
  void take_step(StepEntry&& record);
  void wait_for_files(StepEntry&& record);
  void replace_from(std::int64_t first_step);
  void add(StepEntry&& record);
  void judge();
  bool is_another_file();

  std::string path_;
  dev_t device_ = 0;  // of the file that was read
  ino_t inode_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t line_ = 0;
  SealedLines seals_;
  std::vector<std::string> damaged_;
  std::uint64_t more_damaged_ = 0;
  // Step that was known when something damaged came -> its line and which of damaged_, or behind them; the first.
  std::map<std::int64_t, std::pair<std::uint64_t, std::size_t>> doubtful_;
  std::vector<std::int64_t> undoubted_;  // steps that were added since; some may be gone
  std::set<std::string> replaced_;
  bool is_cut_off_ = false;
  std::vector<RunEntry> runs_;
  std::vector<Completeness> completeness_ = {Completeness()};  // by how many runs had begun
  bool last_run_told_ = false;
  std::optional<std::int64_t> first_;  // the lowest step of which the last run has stored files
  struct Waiting {
    std::size_t run = 0;  // as in run_of_
    bool run_has_files = false;
    StepEntry record;
  };
  std::map<std::int64_t, Waiting>
      waiting_;  // steps without files from before their run's first file, where an earlier run has stored some
  std::map<std::int64_t, StepEntry> steps_;
  std::map<std::string, ViewState> views_;
  std::size_t view_lines_ = 0;
  std::map<std::int64_t, std::size_t> run_of_;  // step -> how many runs had begun when it was stored
};

}  // namespace damaris::manifest
