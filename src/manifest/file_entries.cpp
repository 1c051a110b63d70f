#include "file_entries.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace damaris::manifest {
namespace {

using Numbers = std::vector<std::int64_t>;

Numbers extents_of(const Box& box) {
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

void check_name(const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos) throw Error(DC_E_IO, "a file's name is '" + name + "'");
}

void put(Json& json, const char* key, const std::optional<double>& value) {
  if (value && std::isfinite(*value)) json[key] = *value;
}

Json facts_of(const DatasetEntry& dataset) {
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
  if (!dataset.reduce.empty()) json["reduce"] = dataset.reduce;
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
  if (dataset.start) check_place(*dataset.start, extents_of(dataset.box), "start");
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

}  // namespace

Json to_json(const FileEntry& file) {
  Json json = {{"name", file.name}, {"server", file.server}, {"bytes", file.bytes}};
  if (file.checksum) json["checksum"] = text_of_checksum(*file.checksum);
  json["datasets"] = Json::array();
  for (const DatasetEntry& dataset : file.datasets) json["datasets"].push_back(to_json(dataset));
  return json;
}

}  // namespace damaris::manifest
