#include "step_parts.hpp"

#include "../layout/tiling.hpp"

namespace damaris::hdf5 {
namespace {

Box box_behind(const manifest::DatasetEntry& dataset, const std::vector<PlacedDataset>& places) {
  Box box = dataset.box;
  if (!dataset.is_stack() || places.empty()) return box;
  box.low[0] = places.back().box.high[0];
  box.high[0] += box.low[0];
  return box;
}

}  // namespace

std::map<std::string, std::vector<PlacedDataset>> parts_of(const manifest::StepEntry& step) {
  std::map<std::string, std::vector<manifest::DatasetInFile>> by_variable;
  for (const manifest::FileEntry& file : step.files)
    for (const manifest::DatasetEntry& dataset : file.datasets) by_variable[dataset.variable].push_back({&file, &dataset});
  std::map<std::string, std::vector<PlacedDataset>> parts;
  for (auto& [variable, datasets] : by_variable) {
    put_in_order(datasets);
    std::vector<PlacedDataset>& places = parts[variable];
    for (const auto& [file, dataset] : datasets) places.push_back({file, dataset, box_behind(*dataset, places)});
  }
  return parts;
}

std::vector<Shown> shown_parts(const std::vector<PlacedDataset>& parts) {
  std::vector<Box> boxes;
  for (const PlacedDataset& part : parts) boxes.push_back(part.box);
  std::vector<Shown> shown;
  for (const JoinedBox& joined : join(boxes))
    for (const Tile& tile : joined.tiles) shown.push_back({&parts[tile.block], tile.box});
  return shown;
}

}  // namespace damaris::hdf5
