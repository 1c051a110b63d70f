// What the manifest says of a step and of a run, as plain structs, their JSON, and what two records about one step make together.
// Used by: the hdf5 plugin on the server's work thread; tools.
// Before it: the files that each server wrote for a step. After it: the manifest, the master file, XDMF, restart.
// docs/file-format.md describes the text; readers must ignore unknown keys.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/box.hpp"
#include "core/base/json_fwd.hpp"

namespace damaris::manifest {

// A dataset of a file.
struct DatasetEntry {
  bool is_stack() const { return !sources.empty(); }

  std::string path;      // in the file: "fields/theta", "fields/theta/box1", "fields/theta/4"
  std::string variable;  // "fields/theta"
  bool has_position = false;
  Box box;                                         // in the global array; begins at zero without a position
  std::vector<std::int64_t> global;                // extents of the global array; empty: unknown
  std::optional<std::vector<std::int64_t>> start;  // where the box begins within the dataset; none: the box is the whole dataset
  std::int32_t source = -1;                        // of a dataset of one block: its client and block
  std::int32_t block = 0;
  std::vector<std::int32_t> sources, blocks;  // of a stack: source and block of layer k; empty: no stack
  std::int32_t lowest_source = -1;            // joined: the lowest client that contributed values; -1: unknown
  std::uint64_t raw_bytes = 0;                // as written by the simulation, without ghost zones
  std::uint64_t stored_bytes = 0;             // in the file
  std::uint32_t checksum = 0;                 // of the stored values: stored_values.hpp
  std::optional<double> min,
      max;             // of the finite values, in the simulation's unit; none: there are no finite values, or not numbers
  std::string reduce;  // as in the XML; "": not reduced
  std::optional<double> largest_error;  // rounded or 16 bits: the error reached, of the declared kind
  std::optional<double> scale, offset;  // 16 bits: value = stored * scale + offset
};

struct FileEntry {
  std::string name;  // without folder: the file is next to the manifest
  int server = 0;    // the server that wrote it; the first of several
  std::uint64_t bytes = 0;
  std::uint32_t checksum = 0;  // CRC-32 of the whole file
  std::vector<DatasetEntry> datasets;
};

// What the files of a step add up to.
struct FilesTotal {
  std::uint64_t datasets = 0, raw_bytes = 0, stored_bytes = 0;
};
FilesTotal total_of(const std::vector<FileEntry>& files);

// The declaration of a variable as one line of text: "float64 in K", "{x: float64, n: int32[3]}".
std::string declared_as(const dc_variable_info_t& variable);
// Of each variable in a run's XML, by path.
using Declarations = std::map<std::string, std::string>;
std::shared_ptr<const Declarations> declarations_of(const dc_host_t& host);

// A step as reported by one server, or merged from all of them.
struct StepEntry {
  std::int64_t step = 0;
  std::optional<double> time;                          // physical
  std::vector<int> servers;                            // those that have recorded it
  std::vector<std::pair<std::string, int>> reporters;  // the same with their hosts, sorted
  // In a record: nothing is missing as far as its server knows. After reading: the step is whole.
  bool complete = true;
  bool recovered = false;             // stored from the region of a dead server
  std::vector<FileEntry> files;       // by server
  FilesTotal total;                   // if `files` is empty
  std::vector<std::int32_t> absent;   // clients without a write, sorted
  std::vector<std::int32_t> missing;  // clients that never ended it, because they died or the server was asked to stop; sorted
  std::uint64_t never_attached = 0;   // clients whose attach time-out was over
  std::vector<std::string> skipped;   // variables of which writes were refused for lack of room, sorted
  bool dropped = false;               // they were refused because the rest of the step was dropped
  bool reduced = false;               // stored with reduce-on-full
  std::uint64_t waits = 0;            // writes that waited for room
  std::uint64_t spilled_bytes = 0;    // that were spilled before
  std::vector<std::string> failures;  // sentences
  std::vector<std::string> warnings;  // about changes with this step: sentences
  int retries = 0;                    // failed attempts before it was stored or abandoned: the maximum over the servers
  double waited_s = 0;                // for its slot or grant: the maximum over the servers
  double stored_s = 0;                // from the first byte until durable: the maximum
  std::uint64_t memory_bytes = 0;     // resident beyond the region when all was written: the maximum; 0: unknown
  std::string at;                     // when it became durable, UTC: "2025-03-01T12:00:00.123Z"
  // After reading: of the run that stored the step; nullptr if its record does not have them.
  std::shared_ptr<const Declarations> declared = {};

  bool has_files() const { return total.datasets > 0 || !files.empty(); }
};

// A dataset of a variable, and its file.
struct DatasetInFile {
  const FileEntry* file = nullptr;
  const DatasetEntry* dataset = nullptr;
};

// Sorts the datasets of one variable by precedence where they overlap, which is also the order of stacks: by lowest client, so that
// it does not depend on which server reported first; then by server and name.
void put_in_order(std::vector<DatasetInFile>& datasets);

// Adds the files of another record about the same step. Entries for the same file are joined, or replaced if the same server has recorded it
// `again`.
void add_files(std::vector<FileEntry>& into, std::vector<FileEntry>&& more, bool again);

// Joins another record about the same step, without its files. What is missing according to one of them is missing.
void join(StepEntry& into, StepEntry&& other);

struct RunEntry {
  std::string run;  // unique id
  std::string simulation;
  int servers = 1;
  bool apart = false;         // its servers are independent: their number is unknown
  std::string job;            // the batch job, common to all processes of a run. "": unknown
  std::string identity;       // common to all processes of the run
  bool replaces_all = false;  // its first files replace all earlier runs; else only their steps from that one on
  std::string regions;        // prefix of the names of this server's regions; "": it has none
  std::shared_ptr<const Declarations> declared = {};
};

// A view of the whole run, recorded before the file replaces the previous one.
struct ViewEntry {
  std::string name;  // next to the manifest
  std::uint64_t bytes = 0;
  std::uint32_t checksum = 0;  // CRC-32 of the file
};

// With its files if there are any, else with their total.
Json to_json(const StepEntry& step);
// Without files. Throws damaris::Error(DC_E_IO) naming what is missing or wrong; the caller adds the place.
StepEntry step_from_json(const Json& json);

// "crc32:0123abcd".
std::string text_of_checksum(std::uint32_t checksum);

// What a server knows of a dataset before it stores values, and what seldom changes between steps.
Json facts_of(const DatasetEntry& dataset);
// Throws damaris::Error(DC_E_IO) or Json::exception.
DatasetEntry dataset_from_facts(const Json& json);

}  // namespace damaris::manifest
