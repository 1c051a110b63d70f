#include "server/loaded_plugin.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
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

constexpr int kLocalScope = RTLD_NOW | RTLD_LOCAL;
// Sanitizers do not support RTLD_DEEPBIND; gcc and clang announce them by different macros.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DAMARIS_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(DAMARIS_SANITIZED)
constexpr int kOwnScope = kLocalScope;
#else
constexpr int kOwnScope = kLocalScope | RTLD_DEEPBIND;
#endif

// The dynamic linker keeps one library of a name. So if the plugin's file names the program's libhdf5 as one that it needs, both use that.
bool needs(const std::string& path, const std::string& library) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {}), end(1, '\0');
  return bytes.find(end + std::filesystem::path(library).filename().string() + end) != std::string::npos;
}

// The program, or a library of it, whose HDF5 the plugin would find before its own; "" if there is none.
std::string other_hdf5(const std::string& path) {
  const void* const open = ::dlsym(RTLD_DEFAULT, "H5open");
  Dl_info info = {};
  if (open == nullptr || ::dladdr(open, &info) == 0 || needs(path, info.dli_fname)) return "";
  return info.dli_fname;
}

// A recorder in this process sees no call of a library that has a scope of its own.
void tell_recorder(const std::string& path) {
  using Tell = void (*)(const char*);
  const auto tell = reinterpret_cast<Tell>(::dlsym(RTLD_DEFAULT, "damaris_recorder_unobserved"));
  if (tell != nullptr) tell(format("calls of {}, which has a symbol scope of its own", path).c_str());
}

void* open_library(const std::string& path, const std::string& place, int scope) {
  const ThreadStateGuard thread_state;  // loading a library built with -ffast-math changes the floating-point modes
  void* library = ::dlopen(path.c_str(), scope);
  if (library == nullptr) throw Error(DC_E_PLUGIN, format("{}: cannot load the plugin {}: {}", place, path, ::dlerror()));
  return library;
}

// The size of the table's first version; later members are optional.
constexpr std::size_t kFirstTableBytes = offsetof(dc_plugin_t, on_read);

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

int scope_of(const model::Plugin& plugin, const std::string& path) {
  // Files of several servers are written with the program's MPI, which a library with a scope of its own may not find: OpenMPI's handles
  // are addresses of variables, which copy relocations may have moved into the program.
  if (plugin.library != "damaris_hdf5.so" || model::calls_mpi(plugin)) return kLocalScope;
  const std::string other = other_hdf5(path);
  if (other.empty()) return kLocalScope;
  log_line(LogLevel::info, format("{} has a symbol scope of its own, as the program holds another HDF5, {}", path, other));
  tell_recorder(path);
  return kOwnScope;
}

void LoadedPlugin::fail(void* self, const char* sentence) {
  static_cast<LoadedPlugin*>(self)->failure = sentence == nullptr ? "" : sentence;
}

void LoadedPlugin::stored(void* self, const char* path, std::uint64_t bytes, std::uint64_t raw_bytes) {
  static_cast<LoadedPlugin*>(self)->files.push_back({path == nullptr ? "" : path, bytes, raw_bytes});
}

void LoadedPlugin::wait(void* self, const char* text) { static_cast<LoadedPlugin*>(self)->waits = text == nullptr ? "" : text; }

void LoadedPlugin::note_partial(void* self, std::int64_t step) { static_cast<LoadedPlugin*>(self)->partial.insert(step); }

int LoadedPlugin::send(void* self, int server, const void* data, std::uint64_t bytes) {
  const LoadedPlugin& sender = *static_cast<LoadedPlugin*>(self);
  if (!sender.has_table || server < 0 || server >= sender.facts->server_count || (data == nullptr && bytes > 0))
    return DC_E_ARGUMENT;
  return sender.facts->send(server, sender.index, {static_cast<const char*>(data), bytes}) ? DC_OK : DC_E_NO_MPI;
}

std::unique_ptr<LoadedPlugin> load_plugin(const model::Model& model, const model::Plugin& plugin) {
  auto loaded = std::make_unique<LoadedPlugin>();
  loaded->name = format("plugin '{}'", plugin.name);
  loaded->short_name = plugin.name;
  loaded->where = plugin.where;
  loaded->storage = plugin.storage;
  const std::string path = find_plugin(plugin.library, model, plugin.where), place = model::place(model, plugin.where);
  void* const library = open_library(path, place, scope_of(plugin, path));
  const auto entry = reinterpret_cast<dc_plugin_entry_fn>(::dlsym(library, DC_PLUGIN_ENTRY));
  if (entry == nullptr)
    throw Error(DC_E_PLUGIN,
                format("{}: {} exports no {}(); a plugin in table form must (see damaris/plugin.h)", place, path, DC_PLUGIN_ENTRY));
  const dc_plugin_t* table = entry();
  if (table == nullptr || table->abi != DC_PLUGIN_ABI || table->size_bytes < kFirstTableBytes)
    throw Error(DC_E_VERSION, format("{}: {} was built for plugin ABI {}, this server has {}; rebuild it", place, path,
                                     table == nullptr ? 0 : table->abi, DC_PLUGIN_ABI));
  loaded->has_table = true;
  std::memcpy(&loaded->table, table, std::min<std::size_t>(table->size_bytes, sizeof loaded->table));
  for (const auto& [key, value] : plugin.settings) loaded->settings.push_back({key.c_str(), value.c_str()});
  return loaded;
}

std::unique_ptr<LoadedPlugin> load_function(const model::Model& model, const model::Action& action) {
  auto loaded = std::make_unique<LoadedPlugin>();
  loaded->name = format("action '{}' of {}", action.function, action.library);
  loaded->short_name = action.function;
  loaded->where = action.where;
  loaded->library_name = action.library;
  loaded->function_name = action.function;
  const std::string path = find_plugin(action.library, model, action.where), place = model::place(model, action.where);
  void* const library = open_library(path, place, RTLD_NOW | RTLD_LOCAL);
  loaded->function = reinterpret_cast<dc_action_fn>(::dlsym(library, action.function.c_str()));
  if (loaded->function == nullptr)
    throw Error(DC_E_PLUGIN,
                format("{}: {} exports no function '{}'; check its name and extern \"C\"", place, path, action.function));
  return loaded;
}

}  // namespace damaris::server
