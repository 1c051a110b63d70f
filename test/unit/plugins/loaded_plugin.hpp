// A plugin loaded from the build tree as the server loads it, and driven through its C table.
// Used by: tests of plugins, one thread.
// Before it: the test and its FakeHost. After it: the plugin's callbacks.
#pragma once

#include <damaris/plugin.h>
#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "unit/plugins/fake_host.hpp"

namespace damaris::test {

// As the server loads a plugin in a program without another HDF5.
constexpr int kPluginScope = RTLD_NOW | RTLD_LOCAL;

// Stays loaded for good, as in a server: HDF5 registers exit handlers.
inline const dc_plugin_t* load_plugin(const std::string& name, int scope = kPluginScope) {
  const char* folder = std::getenv("DAMARIS_PLUGIN_PATH");
  if (folder == nullptr)
    throw std::runtime_error("run this by ctest, or set DAMARIS_PLUGIN_PATH to the folder of the built plugins");
  void* library = ::dlopen((std::string(folder) + "/damaris_" + name + ".so").c_str(), scope);
  if (library == nullptr) throw std::runtime_error(::dlerror());
  const auto entry = reinterpret_cast<dc_plugin_entry_fn>(::dlsym(library, DC_PLUGIN_ENTRY));
  if (entry == nullptr) throw std::runtime_error(::dlerror());
  return entry();
}

// A plugin between init and finalize. After a refused init only `init_code` is of use.
class RunningPlugin {
 public:
  RunningPlugin(const std::string& name, const FakeHost& host, int scope = kPluginScope) : table_(load_plugin(name, scope)) {
    init_code = table_->init(host.view(), &state_);
  }
  ~RunningPlugin() {
    if (init_code == DC_OK) finalize();
  }
  RunningPlugin(const RunningPlugin&) = delete;
  RunningPlugin& operator=(const RunningPlugin&) = delete;

  int on_event(const dc_event_t& event, const dc_step_t& step) { return table_->on_event(state_, &event, &step); }
  // As a server does it: again and again, if the plugin wants that.
  int on_step(const dc_step_t& step) {
    int code = DC_AGAIN;
    while (code == DC_AGAIN) code = on_step_once(step);
    return code;
  }
  int on_step_once(const dc_step_t& step) { return table_->on_step(state_, &step); }
  int on_message(int from, const std::string& text) { return table_->on_message(state_, from, text.data(), text.size()); }
  int on_idle() { return table_->on_idle(state_); }
  int on_passed(std::int64_t step) { return table_->on_passed(state_, step); }
  int read(const dc_read_t& read) { return table_->on_read(state_, &read); }
  int last_step(const dc_variable_info_t* variable, std::int64_t& step) { return table_->on_last_step(state_, variable, &step); }
  int finalize() {
    init_code = DC_E_NOT_INITIALIZED;
    return table_->finalize(state_);
  }

  int init_code = DC_OK;

 private:
  const dc_plugin_t* table_;
  void* state_ = nullptr;
};

}  // namespace damaris::test
