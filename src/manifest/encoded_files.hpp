// What a shard says of the files that one server wrote for one step, in bytes that server 0 joins without decoding them: the facts, which
// seldom change between steps, and the values, in columns by dataset.
// Used by: writer.hpp on each server's work thread; shard_reader.hpp in each reader.
// Before it: the entries of a server's files. After it: shard.hpp keeps them.
// docs/file-format.md describes the bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "entries.hpp"

namespace damaris::manifest {

// Text of JSON: for each file its server and its datasets, without the values.
std::string facts_of(const std::vector<FileEntry>& files);

// A line of JSON with the files' names, lengths and checksums, then a column of little-endian numbers for each property of the datasets, in
// the order of the facts.
std::string values_of(const std::vector<FileEntry>& files);

// Facts, decoded: the entries lack what the values say.
// Throws damaris::Error(DC_E_IO) for bytes that are none.
std::vector<FileEntry> files_from_facts(std::string_view facts);

// `files`, those of the facts, with the values; of the datasets those of `variable`, or all if it is "".
// Throws damaris::Error(DC_E_IO) for values that do not match the facts.
std::vector<FileEntry> with_values(const std::vector<FileEntry>& files, std::string_view values, const std::string& variable = "");

// The names of the files alone. Throws damaris::Error(DC_E_IO).
std::vector<std::string> names_in(std::string_view values);

}  // namespace damaris::manifest
