// What is known of a run's storage: the line of a step in the manifest, as plain structs, and their JSON.
// Used by: the hdf5 plugin on the server's dispatch thread; `damaris verify`.
// Before it: each server's files of a step. After it: the manifest, the master file, XDMF, restart.
// docs/file-format.md describes the text; readers must ignore keys they do not know.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/box.hpp"
#include "core/base/json.hpp"

namespace damaris::manifest {

constexpr int kManifestVersion = 2;  // 1: lines had no checksums, and nothing was said of the views

// One dataset of a file.
struct DatasetEntry {
  bool is_stack() const { return !sources.empty(); }

  std::string path;      // in the file: "fields/theta", "fields/theta/box1", "fields/theta/4"
  std::string variable;  // "fields/theta"
  bool has_position = false;
  Box box;                                         // in the global array; begins at zero without a position
  std::vector<std::int64_t> global;                // extents of the global array; empty: not known
  std::optional<std::vector<std::int64_t>> start;  // where the box begins inside the dataset; none: the dataset is the box
  std::int32_t source = -1;                        // of a dataset that is not joined: its client and block
  std::int32_t block = 0;
  std::vector<std::int32_t> sources, blocks;  // of a stack: block k of its first dimension; empty: it is none
  std::int32_t lowest_source = -1;            // joined: the lowest client that gave values to it; -1: an earlier version's line
  std::uint64_t raw_bytes = 0;                // as the simulation wrote them, ghost zones left out
  std::uint64_t stored_bytes = 0;             // in the file
  std::uint32_t checksum = 0;                 // of the values as they are stored: stored_values.hpp
  std::optional<double> min, max;       // of the finite values, in the unit of the simulation; none: there are none, or no numbers
  std::string reduce;                   // as in the XML; "": not reduced
  std::optional<double> largest_error;  // rounded or 16 bits: reached, of the kind that was declared
  std::optional<double> scale, offset;  // 16 bits: value = stored * scale + offset
};

struct FileEntry {
  std::string name;  // without folder: it lies beside the manifest
  int server = 0;    // that wrote it; the first of several
  std::uint64_t bytes = 0;
  std::optional<std::uint32_t> checksum;  // CRC-32 of the whole file; none: several servers wrote it, with an earlier version
  std::vector<DatasetEntry> datasets;

  // Several servers wrote it, and each enters its own part.
  bool is_shared() const {
    return !checksum ||
           std::any_of(datasets.begin(), datasets.end(), [](const DatasetEntry& one) { return one.start.has_value(); });
  }
};

// A step as one server saw it, or as all of them did.
// What the XML of a run says of each variable, by path, in words of one line: declared_as of views.hpp makes them.
using Declarations = std::map<std::string, std::string>;

struct StepEntry {
  std::int64_t step = 0;
  std::optional<double> time;  // physical
  std::vector<int> servers;    // that have reported
  std::vector<std::pair<std::string, int>>
      tellers;  // the same with their hosts, which a line names where servers are apart; else ""
  // In a line: nothing that its servers know of is missing. Of a whole record: completeness.hpp has judged it.
  bool complete = true;
  bool recovered = false;             // stored from the region of a dead server, instead of what that may have stored
  std::vector<FileEntry> files;       // by server
  std::vector<std::int32_t> absent;   // clients without a write, sorted
  std::vector<std::int32_t> missing;  // clients that never ended it: they, or a server that was asked to stop; sorted
  std::uint64_t never_attached = 0;   // clients that a server did not wait for any longer
  std::vector<std::string> skipped;   // variables of which writes were refused for want of room, sorted
  bool dropped = false;               // because the rest of the step was dropped
  bool reduced = false;               // stored with reduce-on-full
  std::uint64_t waits = 0;            // writes that waited for room
  std::uint64_t spilled_bytes = 0;    // that were moved out of the buffer before
  std::vector<std::string> failures;  // sentences
  std::vector<std::string> warnings;  // of what has changed with this step: sentences
  int retries = 0;                 // tries that the file system refused before it was stored, or given up: the most of the servers
  double waited_s = 0;             // for its slot or grant: the longest of the servers
  double stored_s = 0;             // from the first byte to durable: the longest
  std::uint64_t memory_bytes = 0;  // that the process held beyond the region when all was written: the largest; 0: not known
  std::string at;                  // when it became durable, UTC: "2025-03-01T12:00:00.123Z"
  // Of a whole record: of the run that stored it; nullptr where that does not say it.
  std::shared_ptr<const Declarations> declared = {};
};

// A dataset of a variable, and the file that it lies in.
struct DatasetInFile {
  const FileEntry* file = nullptr;
  const DatasetEntry* dataset = nullptr;
};

// Puts those of one variable in the order in which they win where they overlap, and in which stacks follow each other: by their lowest
// client, so that it does not depend on which server was the first to report; where a line does not say that by server, then by name.
void put_in_order(std::vector<DatasetInFile>& datasets);

// Adds what another server says of the same step. What servers say of one file is joined.
void merge(StepEntry& into, StepEntry&& other);

// A line about the run, before its steps.
struct RunEntry {
  std::string run;  // an id of its own
  std::string simulation;
  int servers = 1;
  std::string job;            // the batch job; processes of one run have the same. "": not known
  bool replaces_all = false;  // with its first files it replaces the runs before it, else only from that step on
  std::string regions;        // how the names of its servers' regions begin; "": they have none
  bool apart = false;         // its servers do not know of each other: `servers` is no count of them, each says that it has joined
  std::string host = {};      // apart: of the server that began the run, and its index
  int first_server = 0;
  std::string identity = {};  // the same for all processes of the run, and for no other run's. "": an earlier version's line
  std::shared_ptr<const Declarations> declared = {};  // nullptr: an earlier version's line, which does not say it
};

// A line about a file that shows the run as a whole, added before the file takes the place of the one before.
struct ViewEntry {
  std::string name;  // beside the manifest
  std::uint64_t bytes = 0;
  std::uint32_t checksum = 0;  // CRC-32 of all of them
};

Json to_json(const StepEntry& record);
Json to_json(const RunEntry& record);
Json to_json(const ViewEntry& record);

// Throw damaris::Error(DC_E_IO) that says what is missing or wrong; the caller adds the place.
StepEntry step_from_json(const Json& json);
RunEntry run_from_json(const Json& json);
ViewEntry view_from_json(const Json& json);

}  // namespace damaris::manifest
