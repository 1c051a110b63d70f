#include "view_files.hpp"

#include <algorithm>
#include <set>

namespace damaris::manifest {
namespace {

bool holds(const FileEntry& file, const std::string& variable) {
  return std::any_of(file.datasets.begin(), file.datasets.end(),
                     [&](const DatasetEntry& dataset) { return dataset.variable == variable; });
}

std::set<std::string> variables_of(const StepEntry& step) {
  std::set<std::string> variables;
  for (const FileEntry& file : step.files)
    for (const DatasetEntry& dataset : file.datasets) variables.insert(dataset.variable);
  return variables;
}

}  // namespace

// No two iterations share a file.
std::vector<ViewFiles> files_of_views(const std::map<std::int64_t, StepEntry>& steps) {
  std::map<std::string, ViewFiles> views;
  for (const auto& [number, step] : steps)
    for (const std::string& variable : variables_of(step)) {
      const auto files = static_cast<std::uint64_t>(
          std::count_if(step.files.begin(), step.files.end(), [&](const FileEntry& file) { return holds(file, variable); }));
      ViewFiles& view = views[variable];
      view.variable = variable;
      ++view.iterations;
      view.all += files;
      view.of_one_iteration = std::max(view.of_one_iteration, files);
    }
  std::vector<ViewFiles> list;
  for (auto& [name, view] : views) list.push_back(std::move(view));
  return list;
}

}  // namespace damaris::manifest
