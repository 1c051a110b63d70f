// A plugin or an action's function in memory: where its shared object is found, the scope of its symbols, its table, and what it reports to the
// host in a call. No other code loads plugins.
// Used by: the plugin host; `damaris check`, which only finds them.
// Before it: the action table of the model. After it: a plugin's own library.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/model/model.hpp"

namespace damaris::server {

// Locates the shared object of a plugin, and checks that no other user can replace it.
// Searches an absolute path, or else the plugin path (DAMARIS_PLUGIN_PATH, then the folder beside the library) and the folder of the XML;
// never the working directory. Throws Error(DC_E_PLUGIN) naming every path tried, a file that anyone may write or replace, or one
// that is not a regular file.
std::string find_plugin(const std::string& library, const model::Model& model, const model::Location& where);

// Flags for dlopen: the ordinary local scope, in which a plugin meets the program's C++ library, allocator and MPI. The hdf5 plugin alone
// gets a scope of its own, and only where it would else call the libhdf5 of the program; the log then names that. `path`: of its library.
int scope_of(const model::Plugin& plugin, const std::string& path);

// A file that a storage plugin has made durable in the current call.
struct StoredFile {
  std::string path;
  std::uint64_t bytes = 0, raw_bytes = 0;
};

// What the host provides to plugins about the run.
struct RunFacts {
  std::string host_name, job, regions, run;
  int server_index = 0;
  int server_count = 1;
  std::vector<std::int32_t> clients;
  const std::vector<dc_variable_info_t>* variables = nullptr;
  const void* communicator = nullptr;
  std::function<bool(int server, std::uint32_t plugin, std::string bytes)> send;
};

// `host->self` points to it. Libraries stay loaded: HDF5 and MPI register exit handlers, which must not dangle.
struct LoadedPlugin {
  std::string name;        // for messages
  std::string short_name;  // of the plugin, or of the function
  model::Location where;
  bool storage = false;
  bool disabled = false;
  bool called = false;  // since its on_idle last had nothing to do
  bool initialized = false;
  bool has_table = false;
  dc_plugin_t table = {};  // members that the plugin's older table lacks are NULL
  dc_action_fn function = nullptr;
  std::string library_name, function_name;
  void* state = nullptr;
  std::vector<dc_setting_t> settings;
  dc_host_t host = {};
  std::string failure, waits;
  std::vector<StoredFile> files;
  std::set<std::int64_t> partial;  // steps that it has recorded as incomplete, in a recovery
  std::uint32_t index = 0;         // in the model
  const RunFacts* facts = nullptr;

  // Members of `host`.
  static void fail(void* self, const char* sentence);
  static void stored(void* self, const char* path, std::uint64_t bytes, std::uint64_t raw_bytes);
  static void wait(void* self, const char* text);
  static void note_partial(void* self, std::int64_t step);
  static int send(void* self, int server, const void* data, std::uint64_t bytes);
};

// Load a plugin in table form, or the function of an action, without calling it. Throw Error(DC_E_PLUGIN or DC_E_VERSION) with the XML line.
std::unique_ptr<LoadedPlugin> load_plugin(const model::Model& model, const model::Plugin& plugin);
std::unique_ptr<LoadedPlugin> load_function(const model::Model& model, const model::Action& action);

}  // namespace damaris::server
