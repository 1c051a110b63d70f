#include "entries.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace damaris::manifest {
namespace {

using Numbers = std::vector<std::int64_t>;

constexpr int kMaxServers = 1'000'000;  // more than any machine has nodes; bounds what a reader allocates

template <class T>
void append_sorted(std::vector<T>& into, std::vector<T>&& more) {
  into.insert(into.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  std::sort(into.begin(), into.end());
  into.erase(std::unique(into.begin(), into.end()), into.end());
}

std::string hex(std::uint32_t checksum) {
  static const char* const digits = "0123456789abcdef";
  std::string text = "crc32:";
  for (int shift = 28; shift >= 0; shift -= 4) text += digits[checksum >> shift & 15U];
  return text;
}

std::uint32_t checksum_from(const std::string& text) {
  const std::string digits = text.substr(std::min<std::size_t>(6, text.size()));
  if (text.compare(0, 6, "crc32:") != 0 || digits.size() != 8 || digits.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw Error(DC_E_IO, "'" + text + "' is not a checksum such as crc32:0123abcd");
  return static_cast<std::uint32_t>(std::stoul(digits, nullptr, 16));
}

template <class T>
void put(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}
// JSON has no NaN or Inf: they would become null.
void put(Json& json, const char* key, const std::optional<double>& value) {
  if (value && std::isfinite(*value)) json[key] = *value;
}
template <class T>
void put(Json& json, const char* key, const std::vector<T>& list) {
  if (!list.empty()) json[key] = list;
}
template <class T>
void take(const Json& json, const char* key, T& value) {
  if (const auto found = json.find(key); found != json.end()) read_value(*found, value);
}
template <class T>
void take(const Json& json, const char* key, std::optional<T>& value) {
  if (const auto found = json.find(key); found != json.end() && !found->is_null()) read_value(*found, value.emplace());
}

Numbers extents_of(const Box& box) {
  Numbers extents;
  for (int d = 0; d < box.ndims; ++d) extents.push_back(box.extent(d));
  return extents;
}

Json to_json(const DatasetEntry& dataset) {
  Json json = {{"path", dataset.path}, {"variable", dataset.variable}};
  json["extents"] = extents_of(dataset.box);
  if (dataset.has_position) json["position"] = Numbers(dataset.box.low.begin(), dataset.box.low.begin() + dataset.box.ndims);
  put(json, "global", dataset.global);
  put(json, "start", dataset.start);
  if (dataset.source >= 0) {
    json["source"] = dataset.source;
    json["block"] = dataset.block;
  }
  put(json, "sources", dataset.sources);
  put(json, "blocks", dataset.blocks);
  if (dataset.lowest_source >= 0) json["lowest_source"] = dataset.lowest_source;
  json["raw_bytes"] = dataset.raw_bytes;
  json["stored_bytes"] = dataset.stored_bytes;
  json["checksum"] = hex(dataset.checksum);
  put(json, "min", dataset.min);
  put(json, "max", dataset.max);
  if (!dataset.reduce.empty()) json["reduce"] = dataset.reduce;
  put(json, "largest_error", dataset.largest_error);
  put(json, "scale", dataset.scale);
  put(json, "offset", dataset.offset);
  return json;
}

// Requires that the array at `low` could exist in memory, so that arithmetic with it does not overflow.
void check_place(const Numbers& low, const Numbers& extents, const char* what) {
  std::int64_t elements = 1, end = 0;
  bool fits = extents.size() <= DC_MAX_DIMS && low.size() == extents.size();
  for (std::size_t d = 0; fits && d < extents.size(); ++d)
    fits = low[d] >= 0 && extents[d] >= 0 && !__builtin_add_overflow(low[d], extents[d], &end) &&
           !__builtin_mul_overflow(elements, std::max<std::int64_t>(extents[d], 1), &elements);
  if (!fits) throw Error(DC_E_IO, std::string(what) + " and extents do not match");
}

Box box_from(const Json& json) {
  Numbers extents;
  read_value(json.at("extents"), extents);
  Numbers low(extents.size(), 0);
  take(json, "position", low);
  check_place(low, extents, "position");
  Box box;
  box.ndims = static_cast<int>(extents.size());
  for (int d = 0; d < box.ndims; ++d) {
    box.low[d] = low[static_cast<std::size_t>(d)];
    box.high[d] = box.low[d] + extents[static_cast<std::size_t>(d)];
  }
  return box;
}

void check_stack(const DatasetEntry& dataset) {
  const auto layers = static_cast<std::size_t>(dataset.box.ndims == 0 ? 0 : dataset.box.extent(0));
  const bool fits = dataset.sources.size() == dataset.blocks.size() && (!dataset.is_stack() || dataset.sources.size() == layers);
  if (!fits) throw Error(DC_E_IO, "sources, blocks and extents do not match");
}

DatasetEntry dataset_from(const Json& json) {
  DatasetEntry dataset;
  read_value(json.at("path"), dataset.path);
  read_value(json.at("variable"), dataset.variable);
  dataset.has_position = json.contains("position");
  dataset.box = box_from(json);
  take(json, "global", dataset.global);
  take(json, "start", dataset.start);
  if (dataset.start) check_place(*dataset.start, extents_of(dataset.box), "start");
  take(json, "source", dataset.source);
  take(json, "block", dataset.block);
  take(json, "sources", dataset.sources);
  take(json, "blocks", dataset.blocks);
  take(json, "lowest_source", dataset.lowest_source);
  check_stack(dataset);
  read_value(json.at("raw_bytes"), dataset.raw_bytes);
  read_value(json.at("stored_bytes"), dataset.stored_bytes);
  dataset.checksum = checksum_from(json.at("checksum").get<std::string>());
  take(json, "min", dataset.min);
  take(json, "max", dataset.max);
  take(json, "reduce", dataset.reduce);
  take(json, "largest_error", dataset.largest_error);
  take(json, "scale", dataset.scale);
  take(json, "offset", dataset.offset);
  return dataset;
}

Json to_json(const FileEntry& file) {
  Json json = {{"name", file.name}, {"server", file.server}, {"bytes", file.bytes}};
  if (file.checksum) json["checksum"] = hex(*file.checksum);
  json["datasets"] = Json::array();
  for (const DatasetEntry& dataset : file.datasets) json["datasets"].push_back(to_json(dataset));
  return json;
}

void check_name(const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos) throw Error(DC_E_IO, "a file's name is '" + name + "'");
}

FileEntry file_from(const Json& json) {
  FileEntry file;
  read_value(json.at("name"), file.name);
  check_name(file.name);
  read_value(json.at("server"), file.server);
  read_value(json.at("bytes"), file.bytes);
  if (json.contains("checksum")) file.checksum = checksum_from(json.at("checksum").get<std::string>());
  for (const Json& dataset : json.at("datasets")) file.datasets.push_back(dataset_from(dataset));
  return file;
}

// The library's exceptions name the key.
template <class Read>
auto reading(const char* what, Read&& read) {
  try {
    return read();
  } catch (const Json::exception& error) {
    throw Error(DC_E_IO, std::string(what) + " is damaged: " + error.what());
  }
}

// Servers that write a file together report the same failure.
void add_new(std::vector<std::string>& sentences, std::string&& more) {
  if (std::find(sentences.begin(), sentences.end(), more) == sentences.end()) sentences.push_back(std::move(more));
}

// The relation of a line to the lines that were merged before.
enum class LineOrigin { another_server, repeated, replacing };

// Handles a line that was added twice, for instance by two concurrent recoveries.
void add_datasets_once(FileEntry& file, std::vector<DatasetEntry>&& more) {
  const std::size_t known = file.datasets.size();
  for (DatasetEntry& dataset : more) {
    const auto end = file.datasets.begin() + static_cast<std::ptrdiff_t>(known);
    const auto is_it = [&, text = to_json(dataset)](const DatasetEntry& other) {
      return other.path == dataset.path && to_json(other) == text;
    };
    if (std::none_of(file.datasets.begin(), end, is_it)) file.datasets.push_back(std::move(dataset));
  }
}

void add_file(std::vector<FileEntry>& files, FileEntry&& more, LineOrigin origin) {
  const auto same = std::find_if(files.begin(), files.end(), [&](const FileEntry& file) { return file.name == more.name; });
  if (same == files.end()) return void(files.push_back(std::move(more)));
  if (origin == LineOrigin::replacing) return void(*same = std::move(more));
  same->server = std::min(same->server, more.server);
  if (origin == LineOrigin::repeated && !more.is_shared())
    return;  // one server wrote it, and the existing line may be from a recovery
  if (origin == LineOrigin::repeated) return add_datasets_once(*same, std::move(more.datasets));
  std::move(more.datasets.begin(), more.datasets.end(), std::back_inserter(same->datasets));
}

// A recovered file replaces the dead server's. So does the later one of an independent server, which has come back into its run. One
// of connected servers cannot come back: its second line repeats the first.
LineOrigin origin_of(const StepEntry& line, bool again) {
  if (line.recovered) return LineOrigin::replacing;
  if (!again) return LineOrigin::another_server;
  const bool is_independent = !line.reporters.front().first.empty();
  return is_independent ? LineOrigin::replacing : LineOrigin::repeated;
}

std::int32_t lowest_source_of(const DatasetEntry& dataset) {
  if (dataset.is_stack()) return *std::min_element(dataset.sources.begin(), dataset.sources.end());
  return dataset.source >= 0 ? dataset.source : dataset.lowest_source;
}

}  // namespace

void put_in_order(std::vector<DatasetInFile>& datasets) {
  std::stable_sort(datasets.begin(), datasets.end(), [](const DatasetInFile& a, const DatasetInFile& b) {
    const std::int32_t left = lowest_source_of(*a.dataset), right = lowest_source_of(*b.dataset);
    return std::tie(left, a.file->server, a.file->name) < std::tie(right, b.file->server, b.file->name);
  });
}

void merge(StepEntry& into, StepEntry&& other) {
  if (!into.time) into.time = other.time;
  const bool again = std::any_of(other.reporters.begin(), other.reporters.end(), [&](const auto& reporter) {
    return std::find(into.reporters.begin(), into.reporters.end(), reporter) != into.reporters.end();
  });
  const LineOrigin origin = origin_of(other, again);
  append_sorted(into.servers, std::move(other.servers));
  append_sorted(into.reporters, std::move(other.reporters));
  into.complete = into.complete && other.complete;
  for (FileEntry& file : other.files) add_file(into.files, std::move(file), origin);
  into.recovered = into.recovered || other.recovered;
  std::sort(into.files.begin(), into.files.end(),
            [](const FileEntry& a, const FileEntry& b) { return std::tie(a.server, a.name) < std::tie(b.server, b.name); });
  append_sorted(into.absent, std::move(other.absent));
  append_sorted(into.missing, std::move(other.missing));
  into.never_attached = again ? std::max(into.never_attached, other.never_attached) : into.never_attached + other.never_attached;
  append_sorted(into.skipped, std::move(other.skipped));
  for (std::string& failure : other.failures) add_new(into.failures, std::move(failure));
  into.dropped = into.dropped || other.dropped;
  into.reduced = into.reduced || other.reduced;
  into.waits = again ? std::max(into.waits, other.waits) : into.waits + other.waits;
  into.spilled_bytes = again ? std::max(into.spilled_bytes, other.spilled_bytes) : into.spilled_bytes + other.spilled_bytes;
  for (std::string& warning : other.warnings) add_new(into.warnings, std::move(warning));
  into.retries = std::max(into.retries, other.retries);
  into.waited_s = std::max(into.waited_s, other.waited_s);
  into.stored_s = std::max(into.stored_s, other.stored_s);
  into.memory_bytes = std::max(into.memory_bytes, other.memory_bytes);
  into.at = std::max(into.at, other.at);
}

Json to_json(const StepEntry& record) {
  Json json = {{"step", record.step}};
  put(json, "time", record.time);
  json["complete"] = record.complete;
  json["servers"] = record.servers;
  if (!record.reporters.empty() && !record.reporters.front().first.empty()) json["host"] = record.reporters.front().first;
  if (record.recovered) json["recovered"] = true;
  std::uint64_t raw_bytes = 0, stored_bytes = 0;
  for (const FileEntry& file : record.files) {
    stored_bytes += file.bytes;
    for (const DatasetEntry& dataset : file.datasets) raw_bytes += dataset.raw_bytes;
  }
  json["raw_bytes"] = raw_bytes;
  json["stored_bytes"] = stored_bytes;
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
  json["files"] = Json::array();
  for (const FileEntry& file : record.files) json["files"].push_back(to_json(file));
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
  if (!record.storage.empty()) json["storage"] = record.storage;
  if (record.declared) json["variables"] = *record.declared;
  return json;
}

Json to_json(const ViewEntry& record) {
  return {{"view", record.name}, {"bytes", record.bytes}, {"checksum", hex(record.checksum)}};
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
