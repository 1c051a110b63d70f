#include "entries.hpp"

#include <damaris/error.hpp>

#include <algorithm>

#include "file_entries.hpp"

namespace damaris::manifest {
namespace {

constexpr int kMaxServers = 1'000'000;  // more than any machine has nodes; bounds what a reader allocates

// The library's exceptions name the key.
template <class Read>
auto reading(const char* what, Read&& read) {
  try {
    return read();
  } catch (const Json::exception& error) {
    throw Error(DC_E_IO, std::string(what) + " is damaged: " + error.what());
  }
}

Json to_json(const std::vector<FileEntry>& files) {
  Json json = Json::array();
  for (const FileEntry& file : files) json.push_back(to_json(file));
  return json;
}

Json to_json(const std::vector<Described>& described) {
  Json json = Json::array();
  for (const Described& one : described)
    json.push_back({{"in", one.in}, {"at", one.at}, {"bytes", one.bytes}, {"checksum", text_of_checksum(one.checksum)}});
  return json;
}

std::vector<Described> described_from(const Json& json) {
  std::vector<Described> described;
  for (const Json& one : json) {
    Described& entry = described.emplace_back();
    read_value(one.at("in"), entry.in);
    check_name(entry.in);
    read_value(one.at("at"), entry.at);
    read_value(one.at("bytes"), entry.bytes);
    entry.checksum = checksum_from(one.at("checksum").get<std::string>());
  }
  return described;
}

}  // namespace

Json to_json(const StepEntry& record) {
  Json json = {{"step", record.step}};
  put(json, "time", record.time);
  json["complete"] = record.complete;
  json["servers"] = record.servers;
  if (!record.reporters.empty() && !record.reporters.front().first.empty()) json["host"] = record.reporters.front().first;
  if (record.recovered) json["recovered"] = true;
  FilesTotal total = total_of(record.files);
  add(total, record.total);
  json["raw_bytes"] = total.raw_bytes;
  json["stored_bytes"] = total.stored_bytes;
  json["waited_s"] = record.waited_s;
  json["stored_s"] = record.stored_s;
  if (record.memory_bytes > 0) json["memory_bytes"] = record.memory_bytes;
  json["at"] = record.at;
  if (record.retries > 0) json["retries"] = record.retries;
  put(json, "absent", record.absent);
  put(json, "missing", record.missing);
  if (record.never_attached > 0) json["never_attached"] = record.never_attached;
  put(json, "skipped", record.skipped);
  if (record.dropped) json["dropped"] = true;
  if (record.reduced) json["reduced"] = true;
  if (record.waits > 0) json["waits"] = record.waits;
  if (record.spilled_bytes > 0) json["spilled_bytes"] = record.spilled_bytes;
  put(json, "failures", record.failures);
  put(json, "warnings", record.warnings);
  if (!record.described.empty()) {
    json["datasets"] = total.datasets;
    json["described"] = to_json(record.described);
  }
  if (!record.files.empty() || record.described.empty()) json["files"] = to_json(record.files);
  return json;
}

Json to_json(const RunEntry& record) {
  Json json = {{"run", record.run},
               {"format", "damaris-record"},
               {"format_version", kManifestVersion},
               {"simulation", record.simulation},
               {"servers", record.servers},
               {"job", record.job},
               {"replaces", record.replaces_all ? "all" : "later"}};
  if (!record.regions.empty()) json["regions"] = record.regions;
  if (record.apart) json["apart"] = {{"host", record.host}, {"server", record.first_server}};
  if (!record.identity.empty()) json["identity"] = record.identity;
  if (record.declared) json["variables"] = *record.declared;
  if (record.records_end) json["ends"] = true;
  return json;
}

Json to_json(const ViewEntry& record) {
  return {{"view", record.name}, {"bytes", record.bytes}, {"checksum", text_of_checksum(record.checksum)}};
}

StepEntry step_from_json(const Json& json) {
  return reading("a step", [&] {
    StepEntry record;
    read_value(json.at("step"), record.step);
    take(json, "time", record.time);
    read_value(json.at("complete"), record.complete);
    read_value(json.at("servers"), record.servers);
    std::string host;
    take(json, "host", host);
    for (const int server : record.servers) record.reporters.emplace_back(host, server);
    take(json, "recovered", record.recovered);
    take(json, "retries", record.retries);
    take(json, "waited_s", record.waited_s);
    take(json, "stored_s", record.stored_s);
    take(json, "memory_bytes", record.memory_bytes);
    take(json, "at", record.at);
    take(json, "absent", record.absent);
    take(json, "missing", record.missing);
    take(json, "never_attached", record.never_attached);
    take(json, "skipped", record.skipped);
    take(json, "dropped", record.dropped);
    take(json, "reduced", record.reduced);
    take(json, "waits", record.waits);
    take(json, "spilled_bytes", record.spilled_bytes);
    take(json, "failures", record.failures);
    take(json, "warnings", record.warnings);
    if (const auto described = json.find("described"); described != json.end()) {
      record.described = described_from(*described);
      read_value(json.at("datasets"), record.total.datasets);
      read_value(json.at("raw_bytes"), record.total.raw_bytes);
      read_value(json.at("stored_bytes"), record.total.stored_bytes);
    }
    if (json.contains("files") || record.described.empty())
      for (const Json& file : json.at("files")) record.files.push_back(file_from(file));
    return record;
  });
}

RunEntry run_from_json(const Json& json) {
  return reading("the line of the run", [&] {
    int version = 0;
    read_value(json.at("format_version"), version);
    if (version > kManifestVersion)
      throw Error(DC_E_VERSION, "the manifest has version " + std::to_string(version) + ", this program knows up to " +
                                    std::to_string(kManifestVersion) + "; use a newer Damaris");
    RunEntry record = {json.at("run").get<std::string>(),
                       json.at("simulation").get<std::string>(),
                       0,
                       json.value("job", ""),
                       json.value("replaces", "later") == "all",
                       json.value("regions", "")};
    read_value(json.at("servers"), record.servers);
    if (const auto first = json.find("apart"); first != json.end()) {
      record.apart = true;
      record.host = first->at("host").get<std::string>();
      read_value(first->at("server"), record.first_server);
    }
    record.identity = json.value("identity", "");
    record.records_end = json.value("ends", false);
    if (const auto variables = json.find("variables"); variables != json.end())
      record.declared = std::make_shared<const Declarations>(variables->get<Declarations>());
    if (record.apart) record.servers = 1;  // not a count: a line of an earlier version has the first server's index plus one
    if (record.servers < 1 || record.servers > kMaxServers)
      throw Error(DC_E_IO, "the line of the run is damaged: it names " + std::to_string(record.servers) + " servers");
    return record;
  });
}

ViewEntry view_from_json(const Json& json) {
  return reading("the line of a view", [&] {
    ViewEntry record;
    read_value(json.at("view"), record.name);
    check_name(record.name);
    read_value(json.at("bytes"), record.bytes);
    record.checksum = checksum_from(json.at("checksum").get<std::string>());
    return record;
  });
}

}  // namespace damaris::manifest
