#include "contested_elements.hpp"

#include "core/base/overlaps.hpp"

namespace damaris::manifest {
namespace {

bool are_equal(const DatasetEntry& one, const DatasetEntry& other) {
  return one.box == other.box && one.checksum == other.checksum;
}

void add_contests(std::vector<DatasetInFile>& datasets, std::vector<std::string>& sentences) {
  put_in_order(datasets);
  std::vector<Box> boxes;
  for (const DatasetInFile& one : datasets) boxes.push_back(one.dataset->box);
  for (const Contest& contest : contests(boxes)) {
    const DatasetInFile &shown = datasets[contest.first], &hidden = datasets[contest.second];
    if (shown.file == hidden.file || are_equal(*shown.dataset, *hidden.dataset)) continue;
    sentences.push_back("'" + hidden.dataset->variable + "': " + shown.file->name + " and " + hidden.file->name +
                        " both hold the elements" + box_text(contest.common) + "; readers get those of " + shown.file->name +
                        "; check that dc_set_position gives each block its own place");
  }
}

}  // namespace

std::vector<std::string> contested_elements(const StepEntry& step) {
  std::map<std::string, std::vector<DatasetInFile>> placed;  // by variable
  for (const FileEntry& file : step.files)
    for (const DatasetEntry& dataset : file.datasets)
      if (dataset.has_position && volume(dataset.box) > 0) placed[dataset.variable].push_back({&file, &dataset});
  std::vector<std::string> sentences;
  for (auto& [variable, datasets] : placed) add_contests(datasets, sentences);
  return sentences;
}

}  // namespace damaris::manifest
