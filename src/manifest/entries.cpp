#include "entries.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/json.hpp"

namespace damaris::manifest {
namespace {

const char* name_of(dc_type type) {
  static const char* const kNames[] = {"any",    "int8",   "int16",   "int32",   "int64", "uint8",   "uint16",
                                       "uint32", "uint64", "float32", "float64", "char",  "compound"};
  return kNames[type];
}

std::string field_text(const dc_field_t& field) {
  return std::string(field.name) + ": " + name_of(field.type) + (field.count == 1 ? "" : "[" + std::to_string(field.count) + "]");
}

std::string type_text(const dc_variable_info_t& variable) {
  if (variable.field_count == 0) return name_of(variable.type);
  std::string text;
  for (int i = 0; i < variable.field_count; ++i) text += (i == 0 ? "{" : ", ") + field_text(variable.fields[i]);
  return text + "}";
}

}  // namespace

std::string declared_as(const dc_variable_info_t& variable) {
  const std::string unit = variable.unit;
  return type_text(variable) + (unit.empty() ? "" : " in " + unit);
}

std::shared_ptr<const Declarations> declarations_of(const dc_host_t& host) {
  Declarations all;
  for (std::size_t i = 0; i < host.variable_count; ++i) all.emplace(host.variables[i].path, declared_as(host.variables[i]));
  return std::make_shared<const Declarations>(std::move(all));
}

namespace {

// Adds the key if there is a value.
template <class T>
void put(Json& json, const char* key, const T& value) {
  if (value != T{}) json[key] = value;
}
template <class T>
void put(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}
// JSON has no NaN or Inf: they would become null.
void put(Json& json, const char* key, const std::optional<double>& value) {
  if (value && std::isfinite(*value)) json[key] = *value;
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

using Numbers = std::vector<std::int64_t>;

Numbers extents_in(const Box& box) {
  Numbers extents;
  for (int d = 0; d < box.ndims; ++d) extents.push_back(box.extent(d));
  return extents;
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

}  // namespace

std::string text_of_checksum(std::uint32_t checksum) {
  std::string text = "crc32:";
  for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[checksum >> shift & 15U];
  return text;
}

Json facts_of(const DatasetEntry& dataset) {
  Json json = {{"path", dataset.path}, {"variable", dataset.variable}};
  json["extents"] = extents_in(dataset.box);
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
  put(json, "reduce", dataset.reduce);
  return json;
}

DatasetEntry dataset_from_facts(const Json& json) {
  DatasetEntry dataset;
  read_value(json.at("path"), dataset.path);
  read_value(json.at("variable"), dataset.variable);
  dataset.has_position = json.contains("position");
  dataset.box = box_from(json);
  take(json, "global", dataset.global);
  take(json, "start", dataset.start);
  if (dataset.start) check_place(*dataset.start, extents_in(dataset.box), "start");
  take(json, "source", dataset.source);
  take(json, "block", dataset.block);
  take(json, "sources", dataset.sources);
  take(json, "blocks", dataset.blocks);
  take(json, "lowest_source", dataset.lowest_source);
  check_stack(dataset);
  read_value(json.at("raw_bytes"), dataset.raw_bytes);
  take(json, "reduce", dataset.reduce);
  return dataset;
}

namespace {

Json to_json(const DatasetEntry& dataset) {
  Json json = facts_of(dataset);
  json["stored_bytes"] = dataset.stored_bytes;
  json["checksum"] = text_of_checksum(dataset.checksum);
  put(json, "min", dataset.min);
  put(json, "max", dataset.max);
  put(json, "largest_error", dataset.largest_error);
  put(json, "scale", dataset.scale);
  put(json, "offset", dataset.offset);
  return json;
}

// For a person: with the facts and the values together.
Json to_json(const FileEntry& file) {
  Json json = {{"name", file.name}, {"server", file.server}, {"bytes", file.bytes}};
  json["checksum"] = text_of_checksum(file.checksum);
  json["datasets"] = Json::array();
  for (const DatasetEntry& dataset : file.datasets) json["datasets"].push_back(to_json(dataset));
  return json;
}

// What a step seldom has: left out where it has not.
template <class Step, class Each>
void rare_fields(Step& step, Each&& each) {
  each("time", step.time);
  each("recovered", step.recovered);
  each("retries", step.retries);
  each("waited_s", step.waited_s);
  each("stored_s", step.stored_s);
  each("memory_bytes", step.memory_bytes);
  each("at", step.at);
  each("absent", step.absent);
  each("missing", step.missing);
  each("never_attached", step.never_attached);
  each("skipped", step.skipped);
  each("dropped", step.dropped);
  each("reduced", step.reduced);
  each("waits", step.waits);
  each("spilled_bytes", step.spilled_bytes);
  each("failures", step.failures);
  each("warnings", step.warnings);
}

}  // namespace

Json to_json(const StepEntry& step) {
  const FilesTotal total = step.files.empty() ? step.total : total_of(step.files);
  Json json = {{"step", step.step},          {"complete", step.complete},    {"servers", step.servers},
               {"datasets", total.datasets}, {"raw_bytes", total.raw_bytes}, {"stored_bytes", total.stored_bytes}};
  rare_fields(step, [&](const char* key, const auto& value) { put(json, key, value); });
  for (const FileEntry& file : step.files) json["files"].push_back(to_json(file));
  return json;
}

StepEntry step_from_json(const Json& json) try {
  StepEntry step;
  read_value(json.at("step"), step.step);
  read_value(json.at("complete"), step.complete);
  read_value(json.at("servers"), step.servers);
  read_value(json.at("datasets"), step.total.datasets);
  read_value(json.at("raw_bytes"), step.total.raw_bytes);
  read_value(json.at("stored_bytes"), step.total.stored_bytes);
  rare_fields(step, [&](const char* key, auto& value) { take(json, key, value); });
  return step;
} catch (const Json::exception& error) {  // it names the key
  throw Error(DC_E_IO, std::string("a step is damaged: ") + error.what());
}

namespace {

// Servers that write a file together report the same failure.
void add_new(std::vector<std::string>& sentences, std::string&& more) {
  if (std::find(sentences.begin(), sentences.end(), more) == sentences.end()) sentences.push_back(std::move(more));
}

// Of one server usually a single value, among those of thousands.
template <class T>
void insert_sorted(std::vector<T>& into, std::vector<T>&& more) {
  for (T& one : more) {
    const auto place = into.empty() || into.back() < one ? into.end() : std::lower_bound(into.begin(), into.end(), one);
    if (place == into.end() || one < *place) into.insert(place, std::move(one));
  }
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

FilesTotal total_of(const std::vector<FileEntry>& files) {
  FilesTotal total;
  for (const FileEntry& file : files) {
    total.datasets += file.datasets.size();
    total.stored_bytes += file.bytes;
    for (const DatasetEntry& dataset : file.datasets) total.raw_bytes += dataset.raw_bytes;
  }
  return total;
}

// Servers that write a file together record a part of it each.
void add_files(std::vector<FileEntry>& into, std::vector<FileEntry>&& more, bool again) {
  if (more.empty()) return;
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < into.size(); ++i) known.emplace(into[i].name, i);
  for (FileEntry& file : more) {
    const auto [same, is_new] = known.emplace(file.name, into.size());
    if (is_new) {
      into.push_back(std::move(file));
    } else if (FileEntry& its = into[same->second]; again) {
      its = std::move(file);
    } else {
      its.server = std::min(its.server, file.server);
      std::move(file.datasets.begin(), file.datasets.end(), std::back_inserter(its.datasets));
    }
  }
  std::sort(into.begin(), into.end(),
            [](const FileEntry& a, const FileEntry& b) { return std::tie(a.server, a.name) < std::tie(b.server, b.name); });
}

void join(StepEntry& into, StepEntry&& other) {
  const bool again = std::binary_search(into.reporters.begin(), into.reporters.end(), other.reporters.front());
  const auto sum = [&](auto& one, const auto& more) { again ? void(one = std::max(one, more)) : void(one += more); };
  if (!into.time) into.time = other.time;
  insert_sorted(into.servers, std::move(other.servers));
  insert_sorted(into.reporters, std::move(other.reporters));
  into.complete = into.complete && other.complete;
  into.recovered = into.recovered || other.recovered;
  sum(into.total.datasets, other.total.datasets);
  sum(into.total.raw_bytes, other.total.raw_bytes);
  sum(into.total.stored_bytes, other.total.stored_bytes);
  insert_sorted(into.absent, std::move(other.absent));
  insert_sorted(into.missing, std::move(other.missing));
  sum(into.never_attached, other.never_attached);
  insert_sorted(into.skipped, std::move(other.skipped));
  for (std::string& failure : other.failures) add_new(into.failures, std::move(failure));
  into.dropped = into.dropped || other.dropped;
  into.reduced = into.reduced || other.reduced;
  sum(into.waits, other.waits);
  sum(into.spilled_bytes, other.spilled_bytes);
  for (std::string& warning : other.warnings) add_new(into.warnings, std::move(warning));
  into.retries = std::max(into.retries, other.retries);
  into.waited_s = std::max(into.waited_s, other.waited_s);
  into.stored_s = std::max(into.stored_s, other.stored_s);
  into.memory_bytes = std::max(into.memory_bytes, other.memory_bytes);
  into.at = std::max(into.at, other.at);
}

}  // namespace damaris::manifest
