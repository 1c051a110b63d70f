#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "config/build.hpp"
#include "core/base/format.hpp"

namespace damaris::config {
namespace {

namespace fs = std::filesystem;

// Without a look at the disk, which may hang.
fs::path whole(const std::string& path) {
  std::error_code unresolved;
  const fs::path absolute = fs::absolute(path, unresolved);
  return (unresolved ? fs::path(path) : absolute).lexically_normal();
}

bool begins_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

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
      if (plugin.storage && key == "basename" && is_name_of_run(file, whole(value))) return true;
  return false;
}

}  // namespace

void check_log_file(Build& build) {
  const std::vector<const Element*> logs = build.all("log");
  const Attribute* file = logs.empty() ? nullptr : logs.front()->find("file");
  if (file == nullptr || file->value.empty()) return;
  const fs::path path = whole(file->value);
  const auto refuse = [&](const char* what) {
    build.problems.add(file->value_where, format("{}: {}; name another file, such as '{}'", quoted(*file), what,
                                                 model::background_log_file(build.model)));
  };
  if (path == whole(build.model.file)) refuse("it is this XML, to which the log would be added");
  if (is_file_of_run(build.model, path))
    refuse("this is what files of the run are called, and the log would be added to one of them");
}

}  // namespace damaris::config
