// Rule 17: an application that links another libhdf5 does not meet the plugin's.
// Runs in a process linked with fake_hdf5.c, on its main thread.
// Before it: ctest. After it: exit status 0, 1, or 77 where the symbol scope cannot be had.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "server/loaded_plugin.hpp"
#include "support/temp_folder.hpp"
#include "unit/plugins/hdf5/blocks.hpp"
#include "unit/plugins/loaded_plugin.hpp"

extern "C" std::int64_t H5T_NATIVE_INT32_g;  // of the application's library: makes this program need it

namespace {

using namespace damaris::test;

constexpr unsigned char kSignature[] = {0x89, 'H', 'D', 'F'};

bool is_hdf5(const std::string& path) {
  char start[4] = {};
  std::ifstream(path, std::ios::binary).read(start, sizeof start);
  return std::memcmp(start, kSignature, sizeof start) == 0;
}

// Loads the plugin with these flags and stores one step. 0 when the file is there.
int store_with(int scope, const TempFolder& folder) {
  const std::vector<dc_variable_info_t> variables = {variable_info(0, "v", DC_INT32, 1)};
  FakeHost host(Settings{{"basename", folder.file("storm")}, {"filters", "deflate:1"}}, variables);
  host.place(0, 1);  // keeps the manifest, and so writes the master file with its dimension scales
  void* state = nullptr;
  const dc_plugin_t* table = load_plugin("hdf5", scope);
  Blocks blocks(0);
  // One block without a position is an array of the master.
  blocks.add(variables[0], 0, {3}, std::vector<int>{1, 2, 3});
  const bool stored = table->init(host.view(), &state) == DC_OK && table->on_step(state, &blocks.view()) == DC_OK;
  std::printf("%s\n", stored ? host.files.at(0).path.c_str() : host.failure.c_str());
  return stored && is_hdf5(host.files.at(0).path) && table->finalize(state) == DC_OK && is_hdf5(folder.file("storm.h5")) ? 0 : 1;
}

// What writes files of several servers has to share the program's MPI, so it cannot have a scope of its own. 0 when it refuses.
int share_with(int scope, const TempFolder& folder) {
  FakeHost host(Settings{{"basename", folder.file("storm")}, {"files", "single"}}, {variable_info(0, "v", DC_INT32, 1)});
  host.place(0, 1);
  void* state = nullptr;
  const int code = load_plugin("hdf5", scope)->init(host.view(), &state);
  std::printf("%s\n", host.failure.c_str());
  const auto says = [&](const char* part) { return host.failure.find(part) != std::string::npos; };
  return code == DC_E_CONFIG && (says("its own HDF5") || says("an HDF5 without MPI")) && says("per-server") ? 0 : 1;
}

// The wait status of a child that does this.
int status_of_child(int (*with)(int, const TempFolder&), int scope) {
  const TempFolder folder;  // of the parent, for a child that dies cleans up nothing
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int code = with(scope, folder);
    std::fflush(nullptr);
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace

int main() {
  const std::string path = std::string(std::getenv("DAMARIS_PLUGIN_PATH")) + "/damaris_hdf5.so";
  damaris::model::Plugin plugin;
  plugin.library = "damaris_hdf5.so";
  const int scope = damaris::server::scope_of(plugin, path);
  plugin.settings = {{"files", "single"}};
  plugin.storage = true;
  if (damaris::server::scope_of(plugin, path) != kPluginScope) return 1;
  plugin.library = "damaris_users.so";
  if (damaris::server::scope_of(plugin, path) != kPluginScope) return 1;
  if (scope == kPluginScope) {
    std::puts("SKIP: sanitizers refuse RTLD_DEEPBIND, the plugin's own symbol scope");
    return 77;
  }
  std::printf("the application's libhdf5 says H5T_NATIVE_INT32 is %lld\n", static_cast<long long>(H5T_NATIVE_INT32_g));
  // Without a scope of its own the plugin must fall into the trap, or this test proves nothing.
  const int trapped = status_of_child(store_with, kPluginScope);
  const int stored = status_of_child(store_with, scope);
  const int refused = status_of_child(share_with, kPluginScope);
  std::printf("without own scope: wait status %d (SIGABRT wanted); with it: %d (0 wanted); one file: %d (0 wanted)\n", trapped,
              stored, refused);
  return WIFSIGNALED(trapped) && WTERMSIG(trapped) == SIGABRT && stored == 0 && refused == 0 ? 0 : 1;
}
