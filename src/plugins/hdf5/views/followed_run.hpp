// The steps of a run as its manifest grows, without their parts: of each step it keeps where its lines are, and reads them again for the
// parts. So its memory does not grow with the number of files and datasets.
// Used by: the hdf5 plugin on the work thread of the server that keeps the manifest.
// Before it: a new line in the manifest. After it: run_views.hpp, which shows the steps that have changed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "manifest/completeness.hpp"
#include "manifest/entries.hpp"
#include "manifest/sealed_line.hpp"

namespace damaris::hdf5 {

// Which lines count, which steps a later run replaces, and which are complete: as manifest::Reader has it.
class FollowedRun {
 public:
  struct Step {
    bool complete = true;
    std::optional<double> time;
    std::shared_ptr<const manifest::Declarations> declared;
  };

  explicit FollowedRun(std::string path) : path_(std::move(path)) {}

  // Reads the lines added since the last call, or all if the file was replaced. Returns whether any were not about views. A missing file has
  // no lines. Throws damaris::Error: DC_E_IO if the file is unreadable, DC_E_VERSION if a newer version wrote it.
  bool read_on();
  // By step.
  const std::map<std::int64_t, Step>& steps() const { return steps_; }
  // Steps that have come, gone or got another line since the last call.
  std::set<std::int64_t> take_changed();
  // A step of steps() with all its parts, merged from its lines. Throws damaris::Error(DC_E_IO) if they are not there any more.
  manifest::StepEntry entry(std::int64_t step);
  // The CRC-32 of the lines of a step of steps(): another one if it has changed.
  std::uint32_t sum_of(std::int64_t step) const { return lines_.at(step).sum; }
  // The names of all views that the last run that made any has recorded.
  const std::set<std::string>& views() const { return views_; }
  bool last_run_has_steps() const { return last_run_has_steps_; }
  // As manifest::Reader.
  const std::vector<std::string>& damaged() const { return damaged_; }
  std::uint64_t more_damaged() const { return more_damaged_; }
  const std::string& path() const { return path_; }

 private:
  struct Lines {
    std::size_t run = 0;            // number of runs begun
    std::vector<std::uint64_t> at;  // byte offsets
    std::uint32_t sum = 0;          // of their bytes
    std::optional<double> time;
    std::unique_ptr<manifest::StepEntry> judged;  // without files; none: complete for good
    bool run_has_files = false;                   // of one that waits
  };

  void take_line(const std::string& line);
  void take_content(const std::string& line);
  void begin_run(manifest::RunEntry&& run, manifest::Completeness&& completeness);
  void take_step(manifest::StepEntry&& record, std::uint32_t sum);
  void replace_from(std::int64_t first_step);
  void add(std::int64_t step, Lines&& lines);
  void join(Lines& into, Lines&& more);
  manifest::StepEntry merged(const std::vector<std::uint64_t>& lines) const;
  void judge();
  void leave_out(const std::string& why);
  bool file_was_replaced();
  void start_again();

  std::string path_;
  dev_t device_ = 0;  // of the file read
  ino_t inode_ = 0;
  std::uint64_t offset_ = 0, line_ = 0;
  manifest::SealedLines seals_;
  std::vector<std::string> damaged_;
  std::uint64_t more_damaged_ = 0;
  std::vector<manifest::RunEntry> runs_;
  std::vector<manifest::Completeness> completeness_ = {manifest::Completeness()};  // by number of runs begun
  bool last_run_has_steps_ = false;
  std::optional<std::int64_t> first_;  // the lowest step with files of the last run
  std::map<std::int64_t, Lines> waiting_, lines_;
  std::map<std::int64_t, Step> steps_;
  std::set<std::int64_t> changed_;
  std::set<std::string> views_;
  std::size_t view_lines_ = 0;
  std::uint64_t last_at_ = 0;
  std::unique_ptr<manifest::StepEntry> last_;  // of the newest line about a step, until it is asked for
};

}  // namespace damaris::hdf5
