#include "contested_elements.hpp"

#include "core/base/box.hpp"

namespace damaris::manifest {
namespace {

void add_contests(std::vector<DatasetInFile>& datasets, std::vector<ContestedElements>& found) {
  put_in_order(datasets);
  std::vector<Box> boxes;
  for (const DatasetInFile& one : datasets) boxes.push_back(one.dataset->box);
  for (const Contest& contest : contests(boxes)) {
    const DatasetInFile &shown = datasets[contest.first], &hidden = datasets[contest.second];
    const bool equal = shown.dataset->box == hidden.dataset->box && shown.dataset->checksum == hidden.dataset->checksum;
    if (shown.file != hidden.file && !equal) found.push_back({shown, hidden, contest.common});
  }
}

}  // namespace

std::string ContestedElements::sentence() const {
  return "'" + hidden.dataset->variable + "': " + shown.file->name + " and " + hidden.file->name +
         " hold other values of the elements" + box_text(elements) + "; readers get those of " + shown.file->name +
         "; check that dc_set_position gives each block its own place";
}

bool is_certain(const ContestedElements& one) { return one.shown.dataset->box == one.hidden.dataset->box; }

std::vector<ContestedElements> contested_elements(const StepEntry& step) {
  std::map<std::string, std::vector<DatasetInFile>> placed;  // by variable
  for (const FileEntry& file : step.files)
    for (const DatasetEntry& dataset : file.datasets)
      if (dataset.has_position && volume(dataset.box) > 0) placed[dataset.variable].push_back({&file, &dataset});
  std::vector<ContestedElements> found;
  for (auto& [variable, datasets] : placed) add_contests(datasets, found);
  return found;
}

}  // namespace damaris::manifest
