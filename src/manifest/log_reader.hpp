// Reads one log of a manifest: the records added since the last time, and the files of a step again.
// Used by: manifest.hpp; different logs on different threads.
// Before it: log.hpp. After it: manifest.hpp joins the logs of a run.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "delivery.hpp"
#include "entries.hpp"
#include "output_folder.hpp"

namespace damaris::manifest {

// Where a log has a record.
struct Place {
  std::uint64_t at = 0, bytes = 0;
};

struct StepRecord {
  StepEntry step;  // without its files
  Place place;
};
struct ViewRecord {
  ViewEntry view;
  std::uint64_t shown = 0;
};
struct BackRecord {
  std::string regions;  // as in RunEntry
};
struct EndRecord {
  Losses losses;
  bool recovered = false;
};
// A line that was changed, or cannot be understood, or before which lines are missing, repeated or exchanged; its contents are left out
// except in the last case, where they follow.
struct DamagedRecord {
  std::string why;  // "<path>:<line>: ..."
};
using LogRecord = std::variant<RunEntry, StepRecord, ViewRecord, BackRecord, EndRecord, DamagedRecord>;

class LogReader {
 public:
  LogReader(std::string path, LogName name) : path_(std::move(path)), name_(std::move(name)) {}

  const std::string& path() const { return path_; }
  const LogName& name() const { return name_; }

  // Whether the file is gone, or another one than was read, or shorter. Updates what is known of it.
  bool was_replaced();
  // The records added since the last call; no more than about `limit`. Throws Failure; damaris::Error(DC_E_VERSION).
  std::vector<LogRecord> read_on(std::size_t limit);
  // Whether the last line has no newline: it is being written, or its writer was killed.
  bool is_cut_off() const { return is_cut_off_; }
  // The files of the step whose record is at `place`, with the datasets of `variable`, or all if it is "".
  // Throws damaris::Error(DC_E_IO) if the log is damaged there, Failure if it cannot be read.
  std::vector<FileEntry> files_at(const Place& place, const std::string& variable);

 private:
  void take(const std::string& line, std::vector<LogRecord>& records);
  LogRecord record_from(const std::string& line, std::vector<LogRecord>& records);
  std::string place_of_line() const { return path_ + ":" + std::to_string(line_ + 1) + ": "; }
  Json parsed_at(const Place& place) const;
  const std::vector<FileEntry>& facts_of(std::uint64_t n);

  std::string path_;
  LogName name_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::uint64_t bytes_ = 0, offset_ = 0, line_ = 0;
  std::optional<std::uint64_t> next_ = 1;  // the number that the next record should have; none: unknown, after damage
  bool is_cut_off_ = false;
  bool is_foreign_ = false;                                                // the log of another server: its records are left out
  std::map<std::uint64_t, Place> with_facts_;                              // by number
  std::optional<std::pair<std::uint64_t, std::vector<FileEntry>>> facts_;  // the last that were read, with their number
};

}  // namespace damaris::manifest
