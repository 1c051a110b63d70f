#include "server/find_plugin.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/module_path.hpp"
#include "core/base/own_file.hpp"
#include "core/base/process_guard.hpp"

namespace damaris::server {
namespace {

namespace fs = std::filesystem;

// A plugin runs with the permissions of this user, so neither the plugin nor the configuration that names it may be replaceable.
// `depends_on`: one of the two.
void require_trusted(const std::string& path, const std::string& depends_on, const std::string& place) {
  const std::string part = replaceable_part(depends_on);
  if (part.empty()) return;
  throw Error(DC_E_PLUGIN,
              format("{}: {} is not loaded: {} may be written or replaced by anyone; take that right away ('chmod o-w' of it and "
                     "of the folder it is in) or put the plugin elsewhere",
                     place, path, part));
}

// dlopen would wait for the writer of a named pipe. Nobody whom require_trusted does not trust can exchange the file afterwards.
void require_regular_file(const std::string& path, const std::string& place) {
  const StoredFileReader file(path);
  if (file.is_open()) return;
  const int reason = errno;
  const bool irregular = reason == EINVAL || reason == EISDIR || reason == ENXIO;
  throw Error(DC_E_PLUGIN,
              format("{}: {} is not loaded: {}; {}", place, path, irregular ? "it is not a regular file" : text_of_errno(reason),
                     irregular ? "name the shared object of the plugin" : "check it, and the limit of open files (ulimit -n)"));
}

std::string installed_folder() { return (fs::path(library_folder()) / "damaris" / "plugins").string(); }

// The folders of DAMARIS_PLUGIN_PATH, then the one installed beside the library.
std::vector<std::string> plugin_path() {
  std::vector<std::string> folders;
  if (const char* value = ::secure_getenv("DAMARIS_PLUGIN_PATH")) {
    const std::string text = value;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(':', begin), text.size());
      if (end > begin) folders.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  folders.push_back(installed_folder());
  return folders;
}

// An installed plugin needs no trust in the configuration; any other one is selected by it.
bool is_installed(const std::string& path) { return fs::path(path).parent_path() == installed_folder(); }

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
    require_trusted(path, path, place);
    require_regular_file(path, place);
    if (is_installed(path)) return path;
    require_trusted(path, model.file, place);
    if (::getauxval(AT_SECURE) != 0)  // the configuration is the caller's, the rights are not
      throw Error(DC_E_PLUGIN,
                  format("{}: {} is not loaded: a program with set-user-id or set-group-id loads only plugins of the folder {}",
                         place, path, installed_folder()));
    return path;
  }
  throw Error(DC_E_PLUGIN,
              format("{}: no plugin '{}'; looked for {}; give an absolute path, set DAMARIS_PLUGIN_PATH or put it beside the XML",
                     place, library, join(tried, ", ")));
}

}  // namespace damaris::server
