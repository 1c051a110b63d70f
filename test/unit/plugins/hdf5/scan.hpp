// What a file of the plugin holds, as the manifest has it.
// Used by: tests of the views over all of a run, one thread.
// Before it: the plugin has stored a step. After it: global_view.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "manifest/entries.hpp"
#include "unit/plugins/hdf5/read_file.hpp"

namespace damaris::test {

namespace scanning {

struct Scan {
  const ReadFile* file;
  std::vector<std::string> variables;
  manifest::FileEntry found;
};

inline manifest::DatasetEntry dataset_at(const Scan& scan, const std::string& path) {
  const ReadFile& file = *scan.file;
  manifest::DatasetEntry dataset;
  dataset.path = path;
  for (const std::string& variable : scan.variables)
    if (path == variable || path.compare(0, variable.size() + 1, variable + "/") == 0) dataset.variable = variable;
  const std::vector<hsize_t> extents = file.extents(path);
  dataset.box.ndims = static_cast<int>(extents.size());
  dataset.has_position = file.has_attribute(path, "position");
  std::vector<std::int64_t> low(extents.size(), 0);
  if (dataset.has_position) low = file.attribute<std::int64_t>(path, "position");
  for (std::size_t d = 0; d < extents.size(); ++d) {
    dataset.box.low[d] = low[d];
    dataset.box.high[d] = low[d] + static_cast<std::int64_t>(extents[d]);
  }
  if (file.has_attribute(path, "global_extents")) dataset.global = file.attribute<std::int64_t>(path, "global_extents");
  if (file.has_attribute(path, "stacked")) {
    dataset.sources = file.attribute<std::int32_t>(path, "sources");
    dataset.blocks = file.attribute<std::int32_t>(path, "blocks");
  }
  if (file.has_attribute(path, "scale_factor")) dataset.scale = file.attribute<double>(path, "scale_factor")[0];
  if (file.has_attribute(path, "add_offset")) dataset.offset = file.attribute<double>(path, "add_offset")[0];
  if (file.has_attribute(path, "reduce")) dataset.reduce = file.text(path, "reduce");
  if (file.has_attribute(path, "value_range")) {
    const std::vector<double> range = file.attribute<double>(path, "value_range");
    dataset.min = range[0];
    dataset.max = range[1];
  }
  return dataset;
}

inline herr_t visit(hid_t, const char* name, const H5O_info_t* info, void* data) {
  Scan& scan = *static_cast<Scan*>(data);
  if (info->type == H5O_TYPE_DATASET) scan.found.datasets.push_back(dataset_at(scan, name));
  return 0;
}

}  // namespace scanning

// `path` of the file, `variables` their paths.
inline manifest::FileEntry scan_file(const std::string& path, int server, const std::vector<std::string>& variables) {
  const ReadFile file(path);
  scanning::Scan scan = {&file, variables, {}};
  scan.found.name = path.substr(path.rfind('/') + 1);
  scan.found.server = server;
  CHECK(H5Ovisit(file.id(), H5_INDEX_NAME, H5_ITER_INC, scanning::visit, &scan) >= 0);
  return scan.found;
}

}  // namespace damaris::test
