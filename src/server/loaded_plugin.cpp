#include "server/loaded_plugin.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/thread_state_guard.hpp"
#include "server/find_plugin.hpp"
#include "server/plugin_scope.hpp"

namespace damaris::server {
namespace {

void* open_library(const std::string& path, const std::string& place, int scope) {
  const ThreadStateGuard thread_state;  // loading a library built with -ffast-math changes the floating-point modes
  void* library = ::dlopen(path.c_str(), scope);
  if (library == nullptr) throw Error(DC_E_PLUGIN, format("{}: cannot load the plugin {}: {}", place, path, ::dlerror()));
  return library;
}

// The size of the table's first version; later members are optional.
constexpr std::size_t kFirstTableBytes = offsetof(dc_plugin_t, on_read);

}  // namespace

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
