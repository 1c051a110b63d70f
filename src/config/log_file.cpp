#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "config/build.hpp"
#include "core/base/ascii.hpp"
#include "core/base/file.hpp"
#include "core/base/format.hpp"

namespace damaris::config {
namespace {

namespace fs = std::filesystem;

// What the run of `basename` calls its files and locks (docs/file-format.md), for any server and step.
bool is_name_of_run(const fs::path& file, const fs::path& basename) {
  constexpr std::array<std::string_view, 5> kEndings = {".jsonl", ".h5", ".xmf", ".lock", ".unrecorded"};
  if (file.parent_path() != basename.parent_path()) return false;
  const std::string name = file.filename().string(), start = basename.filename().string() + ".";
  if (!begins_with(name, start) && !begins_with(name, "." + start)) return false;
  return std::find(kEndings.begin(), kEndings.end(), file.extension().string()) != kEndings.end();
}

bool is_file_of_run(const model::Model& model, const fs::path& file) {
  for (const model::Plugin& plugin : model.plugins)
    for (const auto& [key, value] : plugin.settings)
      if (plugin.storage && key == "basename" && is_name_of_run(file, absolute_path(value))) return true;
  return false;
}

}  // namespace

void check_log_file(Build& build) {
  const std::vector<const Element*> logs = build.all("log");
  const Attribute* file = logs.empty() ? nullptr : logs.front()->find("file");
  if (file == nullptr || file->value.empty()) return;
  const fs::path path = absolute_path(file->value);
  const auto refuse = [&](const char* what) {
    build.problems.add(file->value_where, format("{}: {}; name another file, such as '{}'", quoted(*file), what,
                                                 model::background_log_file(build.model)));
  };
  if (path == absolute_path(build.model.file)) refuse("it is this XML, to which the log would be added");
  if (is_file_of_run(build.model, path))
    refuse("this is what files of the run are called, and the log would be added to one of them");
}

}  // namespace damaris::config
