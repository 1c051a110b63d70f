// The records of a log, one a line: the run and its server, steps, views, and how the server went on and ended. Of a step, what is known of
// it as a whole comes before its files, so that a reader of many steps parses no more. A line has a checksum and is read whole or not at all.
// Used by: the hdf5 plugin on the server's work thread; tools.
// Before it: entries.hpp. After it: log.hpp adds the record; manifest.hpp reads it.
// docs/file-format.md describes the text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_fwd.hpp"
#include "delivery.hpp"
#include "entries.hpp"
#include "output_folder.hpp"

namespace damaris::manifest {

// `object`: the text of a JSON object with at least one key. Returns it with a further key at its end: "crc32", the checksum of all
// preceding bytes, as eight lower-case hexadecimal digits.
std::string sealed(std::string object);

// Whether the line, without newline, has a checksum that matches its bytes. False also if objects and lists are nested more deeply than any
// of ours: the recursion of the parser, and of copies of its result, has a bound for text of untrusted origin.
bool is_whole(std::string_view line);

// Passes each line from byte `from` on to `take`, without newline, until it returns false. Ignores a last line without newline,
// which is still being written. Returns false if the file does not exist. Throws Failure if it is unreadable.
bool for_whole_lines(const std::string& path, std::uint64_t from, const std::function<bool(std::string& line)>& take);

// What a server knows of its datasets before it stores values: the same in most steps, so that a record names an earlier one that has it.
// A JSON list with an object of "server" and "datasets" for each file.
std::string facts_of(const std::vector<FileEntry>& files);
// What each step changes: a JSON list with an object for each file, in which each property of the datasets is a list.
std::string values_of(const std::vector<FileEntry>& files);

// The text of the record. `facts`: the text of facts_of(), or "" to refer to record `as`, which has them.
std::string record_of(const StepEntry& step, std::uint64_t n, const std::string& facts, std::uint64_t as);

// The key of a record that says what it is about, the first after its number: "run", "step", "view", "back" or "end". "" if it is damaged.
std::string_view kind_of(std::string_view line);
// The record as far as its files: an object to parse. The whole line if it has none.
std::string head_of(const std::string& line);
// The files without what steps change, from the text of facts_of(). Throws damaris::Error(DC_E_IO) or Json::exception.
std::vector<FileEntry> files_from_facts(const Json& facts);
// The files of a record, from those and the text of values_of(). `variable`: without the datasets of others, and without
// files that have none of it; "": all. Throws as above.
std::vector<FileEntry> with_values(const std::vector<FileEntry>& facts, const Json& values, const std::string& variable);

// The first record of a log.
Json run_record(const RunEntry& run, const LogName& log);
// Throws damaris::Error: DC_E_VERSION if a newer version wrote it, DC_E_IO if it is damaged, or of another log than `log`.
RunEntry run_from_record(const Json& record, const LogName& log);

// A view of the run: `shown` is the number of records about steps that it shows, of all logs of the run.
Json view_record(const ViewEntry& view, std::uint64_t shown);
// Throws damaris::Error(DC_E_IO) naming what is missing or wrong.
ViewEntry view_from_record(const Json& record);
// The server came back into the run.
Json back_record(const RunEntry& run);
// The server has recorded all that it received. `recovered`: it was killed, and its data were recovered.
Json end_record(const Losses& losses, bool recovered);

}  // namespace damaris::manifest
