// The files of a step as JSON: the facts in a log, and as `damaris manifest` prints them.
// Used by: entries.cpp, records.cpp; any thread.
// Before it: entries.hpp. After it: a record of a log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/json.hpp"
#include "entries.hpp"

namespace damaris::manifest {

// "crc32:0123abcd".
std::string text_of_checksum(std::uint32_t checksum);
// Throws damaris::Error(DC_E_IO) for another text.
std::uint32_t checksum_from(const std::string& text);
// Throws damaris::Error(DC_E_IO) for the name of a file that is not next to the manifest.
void check_name(const std::string& name);

// What a server knows of a dataset before it stores values, and what seldom changes between steps.
Json facts_of(const DatasetEntry& dataset);
// Throws damaris::Error(DC_E_IO) or Json::exception.
DatasetEntry dataset_from_facts(const Json& json);

// For a person: with the facts and the values together.
Json to_json(const FileEntry& file);

// Adds the key if there is a value.
template <class T>
void put(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}
// JSON has no NaN or Inf: they would become null.
void put(Json& json, const char* key, const std::optional<double>& value);
template <class T>
void put(Json& json, const char* key, const std::vector<T>& list) {
  if (!list.empty()) json[key] = list;
}
// Leaves `value` as it is if there is no such key.
template <class T>
void take(const Json& json, const char* key, T& value) {
  if (const auto found = json.find(key); found != json.end()) read_value(*found, value);
}
template <class T>
void take(const Json& json, const char* key, std::optional<T>& value) {
  if (const auto found = json.find(key); found != json.end() && !found->is_null()) read_value(*found, value.emplace());
}

}  // namespace damaris::manifest
