#include "server/find_plugin.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/module_path.hpp"

namespace damaris::server {
namespace {

namespace fs = std::filesystem;

// In a sticky folder, as /tmp is, others can add files but not replace ours.
bool anyone_may_replace(const struct stat& file, const struct stat& folder) {
  const bool ours = file.st_uid == ::geteuid() || file.st_uid == 0;
  if ((file.st_mode & S_IWOTH) != 0) return true;
  return (folder.st_mode & S_IWOTH) != 0 && !((folder.st_mode & S_ISVTX) != 0 && ours);
}

// The server runs what it loads, with the rights of this user.
void require_trusted(const std::string& path, const std::string& place) {
  struct stat file = {}, folder = {};
  const std::string parent = fs::path(path).parent_path().string();
  if (::stat(path.c_str(), &file) != 0 || ::stat(parent.c_str(), &folder) != 0 || !anyone_may_replace(file, folder)) return;
  throw Error(DC_E_PLUGIN, format("{}: {} is not loaded: it or its folder may be written by anyone; take that right away "
                                  "('chmod o-w') or put the plugin elsewhere",
                                  place, path));
}

// The folders of DAMARIS_PLUGIN_PATH, then the one installed beside the library.
std::vector<std::string> plugin_path() {
  std::vector<std::string> folders;
  if (const char* value = std::getenv("DAMARIS_PLUGIN_PATH")) {
    const std::string text = value;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(':', begin), text.size());
      if (end > begin) folders.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  folders.push_back((fs::path(library_folder()) / "damaris" / "plugins").string());
  return folders;
}

}  // namespace

std::string find_plugin(const std::string& library, const model::Model& model, const model::Location& where) {
  const std::string place = model::place(model, where);
  std::vector<std::string> tried;
  if (fs::path(library).is_absolute()) {
    tried.push_back(library);
  } else {
    for (const std::string& folder : plugin_path())
      if (fs::path(folder).is_absolute()) tried.push_back((fs::path(folder) / library).string());
    tried.push_back((fs::absolute(model.file).parent_path() / library).string());
  }
  for (const std::string& path : tried) {
    if (::access(path.c_str(), R_OK) != 0) continue;
    require_trusted(path, place);
    return path;
  }
  throw Error(DC_E_PLUGIN,
              format("{}: no plugin '{}'; looked for {}; give an absolute path, set DAMARIS_PLUGIN_PATH or put it beside the XML",
                     place, library, join(tried, ", ")));
}

}  // namespace damaris::server
