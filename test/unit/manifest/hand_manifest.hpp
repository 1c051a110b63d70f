// A manifest made by hand beside files that a plugin has stored: what a run to go on from leaves.
// Used by: tests of restart, one thread.
// Before it: Fixture::stored. After it: a plugin with restart="<folder>/earlier".
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "codec/checksum.hpp"
#include "core/base/json.hpp"
#include "manifest/entries.hpp"
#include "unit/manifest/hand_log.hpp"
#include "unit/plugins/hdf5/blocks.hpp"

namespace damaris::test {

using manifest::DatasetEntry;
using manifest::StepEntry;

// A joined dataset of `variable`, at its place in the global array.
inline manifest::DatasetEntry joined_dataset(const std::string& variable, const Numbers& position, const Numbers& extents,
                                             Numbers global = {}) {
  manifest::DatasetEntry dataset;
  dataset.path = dataset.variable = variable;
  dataset.has_position = true;
  dataset.box.ndims = static_cast<int>(extents.size());
  for (std::size_t d = 0; d < extents.size(); ++d) {
    dataset.box.low[d] = position[d];
    dataset.box.high[d] = position[d] + extents[d];
  }
  dataset.global = std::move(global);
  return dataset;
}

// What one client wrote, without a place.
inline manifest::DatasetEntry source_dataset(const std::string& variable, std::int32_t source, const Numbers& extents,
                                             std::int32_t block = 0) {
  manifest::DatasetEntry dataset = joined_dataset(variable, Numbers(extents.size(), 0), extents);
  dataset.path = variable + "/" + std::to_string(source) + (block == 0 ? "" : "." + std::to_string(block));
  dataset.has_position = false;
  dataset.source = source;
  dataset.block = block;
  return dataset;
}

class HandRecord {
 public:
  explicit HandRecord(const std::filesystem::path& folder) : folder_(folder) {}

  std::string basename() const { return (folder_ / "earlier").string(); }
  std::string path() const { return basename() + ".g1.node7.s3.jsonl"; }
  void add_text(const std::string& text) const { std::ofstream(path(), std::ios::app) << text; }
  void add(const manifest::StepEntry& step) const { HandLog(basename(), {1, "node7", 3}, 0).add(step); }
  // A complete step of one file, which lies in the folder.
  manifest::StepEntry step(std::int64_t number, const std::string& file, std::vector<manifest::DatasetEntry> datasets) const {
    manifest::StepEntry step;
    step.step = number;
    step.servers = {3};
    step.files.push_back(stored(file, std::move(datasets)));
    return step;
  }
  manifest::FileEntry stored(const std::string& file, std::vector<manifest::DatasetEntry> datasets) const {
    manifest::FileEntry stored;
    stored.name = std::filesystem::path(file).filename();
    stored.server = 3;
    stored.bytes = std::filesystem::exists(folder_ / stored.name) ? std::filesystem::file_size(folder_ / stored.name) : 0;
    stored.datasets = std::move(datasets);
    std::ostringstream bytes;
    bytes << std::ifstream(folder_ / stored.name, std::ios::binary).rdbuf();
    stored.checksum = codec::crc32(bytes.str().data(), bytes.str().size());
    return stored;
  }

 private:
  std::filesystem::path folder_;
};

// What a client asks for: the values it gets, and the view of them.
template <class Value>
struct Question {
  Question(const dc_variable_info_t& variable, std::int64_t step, const Numbers& extents, std::int32_t source = 0) {
    std::size_t count = 1;
    for (const std::int64_t extent : extents) count *= static_cast<std::size_t>(extent);
    values.resize(count);
    read.variable = &variable;
    read.step = step;
    read.source = source;
    std::copy(extents.begin(), extents.end(), read.extents);
    read.data = values.data();
    read.bytes = count * sizeof(Value);
  }
  Question& at(const Numbers& position, const Numbers& global = {}) {
    read.has_position = 1;
    std::copy(position.begin(), position.end(), read.position);
    std::copy(global.begin(), global.end(), read.global);
    return *this;
  }
  std::vector<Value> values;
  dc_read_t read = {};
};

}  // namespace damaris::test
