#include "server/plugin_host.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/in_callback.hpp"
#include "core/base/log.hpp"
#include "core/base/thread_state_guard.hpp"
#include "server/find_plugin.hpp"

namespace damaris::server {
namespace {

// Plugins get a symbol scope of their own: a plugin's HDF5 must not bind to the application's.
// Sanitizers do not support RTLD_DEEPBIND; gcc and clang announce them by different macros.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DAMARIS_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(DAMARIS_SANITIZED)
constexpr int kOwnScope = RTLD_NOW | RTLD_LOCAL;
#else
constexpr int kOwnScope = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif
// A plugin that calls MPI must bind to the program's MPI: OpenMPI's handles are addresses of variables, which copy relocations may have
// moved into the program, where a library with a scope of its own would not find them.
constexpr int kProgramScope = RTLD_NOW | RTLD_LOCAL;

void* open_library(const std::string& path, const std::string& place, int scope = kOwnScope) {
  const ThreadStateGuard thread_state;  // loading a library built with -ffast-math changes the floating-point modes
  void* library = ::dlopen(path.c_str(), scope);
  if (library == nullptr) throw Error(DC_E_PLUGIN, format("{}: cannot load the plugin {}: {}", place, path, ::dlerror()));
  return library;
}

// The size of the table's first version; later members are optional.
constexpr std::size_t kFirstTableBytes = offsetof(dc_plugin_t, on_read);
constexpr double kLongSeconds = 10;  // a longer callback is logged

void host_log(void*, int level, const char* text) { log_line(static_cast<LogLevel>(level), text == nullptr ? "" : text); }

}  // namespace

// A loaded shared object with its C host table. `host->self` points to it.
struct PluginHost::Loaded {
  std::string name;  // for messages
  model::Location where;
  bool storage = false;
  bool disabled = false;
  bool called = false;  // since its on_idle last had nothing to do
  bool initialized = false;
  void* library = nullptr;
  bool has_table = false;
  dc_plugin_t table = {};  // members that the plugin's older table lacks are NULL
  dc_action_fn function = nullptr;
  std::string library_name, function_name;
  void* state = nullptr;
  std::vector<dc_setting_t> settings;
  dc_host_t host = {};
  std::string failure, waits;
  std::vector<StoredFile> files;
  std::uint32_t index = 0;  // in the model
  const RunFacts* facts = nullptr;

  // Libraries stay loaded: HDF5 and MPI register exit handlers, which must not dangle.
  static void fail(void* self, const char* sentence) { static_cast<Loaded*>(self)->failure = sentence == nullptr ? "" : sentence; }
  static void stored(void* self, const char* path, std::uint64_t bytes, std::uint64_t raw_bytes) {
    static_cast<Loaded*>(self)->files.push_back({path == nullptr ? "" : path, bytes, raw_bytes});
  }
  static void wait(void* self, const char* text) { static_cast<Loaded*>(self)->waits = text == nullptr ? "" : text; }
  static int send(void* self, int server, const void* data, std::uint64_t bytes) {
    const Loaded& sender = *static_cast<Loaded*>(self);
    if (!sender.has_table || server < 0 || server >= sender.facts->server_count || (data == nullptr && bytes > 0))
      return DC_E_ARGUMENT;
    return sender.facts->send(server, sender.index, {static_cast<const char*>(data), bytes}) ? DC_OK : DC_E_NO_MPI;
  }
};

PluginHost::PluginHost(std::shared_ptr<const model::Model> model) : model_(std::move(model)) {
  for (const model::Plugin& plugin : model_->plugins) load_plugin(plugin);
  for (const model::Event& event : model_->events)
    for (const model::Action& action : event.actions)
      if (action.plugin < 0) load_function(action);
}

PluginHost::~PluginHost() {
  if (creator_.is_this_process()) finalize();
}

std::string PluginHost::place(const model::Location& where) const { return model::place(*model_, where); }

void PluginHost::load_plugin(const model::Plugin& plugin) {
  auto loaded = std::make_unique<Loaded>();
  loaded->name = format("plugin '{}'", plugin.name);
  loaded->where = plugin.where;
  loaded->storage = plugin.storage;
  const std::string path = find_plugin(plugin.library, *model_, plugin.where);
  loaded->library = open_library(path, place(plugin.where), model::calls_mpi(plugin) ? kProgramScope : kOwnScope);
  const auto entry = reinterpret_cast<dc_plugin_entry_fn>(::dlsym(loaded->library, DC_PLUGIN_ENTRY));
  if (entry == nullptr)
    throw Error(DC_E_PLUGIN, format("{}: {} exports no {}(); a plugin in table form must (see damaris/plugin.h)",
                                    place(plugin.where), path, DC_PLUGIN_ENTRY));
  const dc_plugin_t* table = entry();
  if (table == nullptr || table->abi != DC_PLUGIN_ABI || table->size_bytes < kFirstTableBytes)
    throw Error(DC_E_VERSION, format("{}: {} was built for plugin ABI {}, this server has {}; rebuild it", place(plugin.where),
                                     path, table == nullptr ? 0 : table->abi, DC_PLUGIN_ABI));
  loaded->has_table = true;
  std::memcpy(&loaded->table, table, std::min<std::size_t>(table->size_bytes, sizeof loaded->table));
  for (const auto& [key, value] : plugin.settings) loaded->settings.push_back({key.c_str(), value.c_str()});
  loaded->index = static_cast<std::uint32_t>(plugins_.size());
  plugins_.push_back(std::move(loaded));
}

void PluginHost::load_function(const model::Action& action) {
  for (const auto& known : functions_)
    if (known->library_name == action.library && known->function_name == action.function) return;
  auto loaded = std::make_unique<Loaded>();
  loaded->name = format("action '{}' of {}", action.function, action.library);
  loaded->where = action.where;
  loaded->library_name = action.library;
  loaded->function_name = action.function;
  const std::string path = find_plugin(action.library, *model_, action.where);
  loaded->library = open_library(path, place(action.where));
  loaded->function = reinterpret_cast<dc_action_fn>(::dlsym(loaded->library, action.function.c_str()));
  if (loaded->function == nullptr)
    throw Error(DC_E_PLUGIN, format("{}: {} exports no function '{}'; check its name and extern \"C\"", place(action.where), path,
                                    action.function));
  functions_.push_back(std::move(loaded));
}

void PluginHost::initialize(const RunFacts& facts) {
  facts_ = facts;
  const auto prepare = [&](Loaded& loaded) {
    dc_host_t& host = loaded.host;
    host.abi = DC_PLUGIN_ABI;
    host.size_bytes = sizeof(dc_host_t);
    host.self = &loaded;
    host.simulation = model_->simulation.c_str();
    host.config_file = model_->file.c_str();
    host.host_name = facts_.host_name.c_str();
    host.server_index = facts_.server_index;
    host.server_count = facts_.server_count;
    host.client_count = static_cast<int>(facts_.clients.size());
    host.clients = facts_.clients.data();
    host.variable_count = facts_.variables->size();
    host.variables = facts_.variables->data();
    host.setting_count = loaded.settings.size();
    host.settings = loaded.settings.data();
    host.communicator = facts_.communicator;
    host.log = host_log;
    host.fail = Loaded::fail;
    host.stored = Loaded::stored;
    host.send = Loaded::send;
    host.job = facts_.job.c_str();
    host.regions = facts_.regions.c_str();
    host.run = facts_.run.c_str();
    host.waits = Loaded::wait;
    loaded.facts = &facts_;
  };
  for (auto& function : functions_) prepare(*function);
  for (auto& plugin : plugins_) {
    prepare(*plugin);
    Loaded& loaded = *plugin;
    if (loaded.table.init != nullptr) {
      const Status result = guarded(loaded, "in init", [&] { return loaded.table.init(&loaded.host, &loaded.state); });
      if (result.code < DC_OK)
        throw Error(static_cast<dc_code>(result.code), format("{}: {}", place(loaded.where), result.message));
    }
    loaded.initialized = true;
  }
}

void PluginHost::set_clients(std::vector<std::int32_t> clients) {
  facts_.clients = std::move(clients);
  for (const auto* loaded : {&plugins_, &functions_})
    for (const auto& one : *loaded) {
      one->host.client_count = static_cast<int>(facts_.clients.size());
      one->host.clients = facts_.clients.data();
    }
}

void PluginHost::set_lost(std::vector<dc_lost_t> lost, std::size_t never_attached) {
  lost_ = std::move(lost);
  for (const auto* loaded : {&plugins_, &functions_})
    for (const auto& one : *loaded) {
      one->host.lost_count = lost_.size();
      one->host.lost = lost_.data();
      one->host.never_attached = never_attached;
    }
}

// Every callback goes through here: the only place that catches a plugin's exceptions.
template <class Call>
Status PluginHost::guarded(Loaded& plugin, const std::string& what, Call&& call) {
  plugin.failure.clear();
  plugin.called = true;
  if (busy_) busy_(format("{} {}", plugin.name, what));
  const Clock::time_point start = Clock::now();
  Status result;
  try {
    const InCallback inside;
    const ThreadStateGuard thread_state;  // per callback, so that traps left enabled by a plugin affect nothing else
    result.code = call();
  } catch (const std::exception& error) {
    result.code = DC_E_PLUGIN;
    plugin.failure = format("it threw: {}", error.what());
  } catch (...) {
    result.code = DC_E_PLUGIN;
    plugin.failure = "it threw something other than a std::exception";
  }
  if (!creator_.is_this_process())
    throw Error(DC_E_FORKED, format("{} {} has returned in a process that it forked: one server goes on, and that is not this "
                                    "process; end the fork with _exit",
                                    plugin.name, what));
  if (busy_) busy_(waiting_);
  if (const double seconds = seconds_since(start); seconds > kLongSeconds)
    log_line(LogLevel::warning,
             format("{} took {:.1f} s {}; meanwhile no step was stored and no action run", plugin.name, seconds, what));
  if (result.code >= DC_OK) return result;
  const std::string why =
      plugin.failure.empty() ? format("it returned {} ({})", result.code, dc_strerror(result.code)) : plugin.failure;
  result.message = format("{} failed {}: {}", plugin.name, what, why);
  if (!plugin.storage) failures_.push_back(result.message);
  if (can_be_disabled(plugin)) {
    plugin.disabled = true;
    result.code = DC_N_PLUGIN;
    result.message += "; it is switched off, the run goes on without it (<plugins policy=\"disable\"/>)";
  }
  log_line(result.code == DC_E_NOT_STORED ? LogLevel::info
           : result.is_notice()           ? LogLevel::warning
                                          : LogLevel::error,
           result.message);
  return result;
}

// A failure in init always stops the run: the settings must be corrected.
bool PluginHost::can_be_disabled(const Loaded& plugin) const {
  return !plugin.storage && (plugin.initialized || plugin.function != nullptr) &&
         model_->architecture.plugin_policy == model::PluginPolicy::disable;
}

void PluginHost::keep_first(Status& first, const Status& call) {
  if ((call.code < DC_OK && first.code >= DC_OK) || (call.is_notice() && first.code == DC_OK)) first = call;
}

Status PluginHost::run(const model::Action& action, const dc_event_t& event, const dc_step_t& step) {
  const std::string what = format("on event '{}' of step {}", event.name, event.step);
  Loaded* target = nullptr;
  if (action.plugin >= 0) target = plugins_[static_cast<std::size_t>(action.plugin)].get();
  for (auto& function : functions_)
    if (action.plugin < 0 && function->library_name == action.library && function->function_name == action.function)
      target = function.get();
  if (target == nullptr || target->disabled) return {};
  return guarded(*target, what, [&] {
    if (target->function != nullptr) return target->function(&event, &step, &target->host);
    return target->table.on_event == nullptr ? DC_OK : target->table.on_event(target->state, &event, &step);
  });
}

void PluginHost::begin(const dc_step_t& step) {
  begun_ = true;
  next_plugin_ = 0;
  reported_failures_ = std::exchange(failures_, {});
  failure_texts_.clear();
  for (const std::string& failure : reported_failures_) failure_texts_.push_back(failure.c_str());
  select_stored_datasets(step);
}

void PluginHost::select_stored_datasets(const dc_step_t& step) {
  stored_datasets_.clear();
  for (std::size_t i = 0; i < step.dataset_count; ++i)
    if (model_->variables[step.datasets[i].variable->id].store) stored_datasets_.push_back(step.datasets[i]);
  to_store_ = step;
  to_store_.datasets = stored_datasets_.data();
  to_store_.dataset_count = stored_datasets_.size();
  to_store_.plugin_failure_count = failure_texts_.size();
  to_store_.plugin_failures = failure_texts_.data();
}

PluginHost::Pass PluginHost::process(const dc_step_t& step) {
  if (!begun_) begin(step);
  to_store_.age_s = step.age_s;
  to_store_.urgent = step.urgent;
  to_store_.ending = step.ending;
  for (; next_plugin_ < plugins_.size(); ++next_plugin_) {
    Loaded& plugin = *plugins_[next_plugin_];
    if (plugin.disabled || plugin.table.on_step == nullptr) continue;
    const Status call = guarded(plugin, format("at step {}", step.step),
                                [&] { return plugin.table.on_step(plugin.state, plugin.storage ? &to_store_ : &step); });
    take_files(plugin);
    update_wait_text(plugin, call);
    if (call.code == DC_AGAIN) return Pass::again;
    if (call.code == DC_WAIT) return Pass::waiting;
    if (call.code == DC_REFUSED) return refused(plugin, step);
    note(plugin, call);
  }
  begun_ = false;
  return Pass::done;
}

PluginHost::Pass PluginHost::refused(const Loaded& plugin, const dc_step_t& step) {
  refusal_ = format("{}: {}", plugin.name, plugin.failure);
  if (step.ending != 0) begun_ = false;
  return Pass::refused;
}

// Between callbacks the server is not inside a plugin, but it may be waiting for this one.
void PluginHost::update_wait_text(Loaded& plugin, const Status& call) {
  if (call.code != DC_AGAIN && call.code != DC_WAIT && call.code != DC_REFUSED) plugin.waits.clear();
  if (plugin.waits.empty() && waiting_.empty()) return;
  waiting_ = plugin.waits.empty() ? "" : format("{}, {}", plugin.name, plugin.waits);
  if (busy_) busy_(waiting_);
}

PluginHost::StepResult PluginHost::take_result() { return std::exchange(result_, {}); }

void PluginHost::take_files(Loaded& plugin) {
  std::move(plugin.files.begin(), plugin.files.end(), std::back_inserter(result_.files));
  plugin.files.clear();
}

void PluginHost::note(Loaded& plugin, const Status& call) {
  if (call.is_notice()) result_.notices.push_back(call);
  if (call.code >= DC_OK) return;
  if (plugin.storage) result_.durable = false;
  if (result_.first_failure.code == DC_OK) result_.first_failure = call;
}

template <class Callback, class... Rest>
Status PluginHost::call_storage(Callback callback, const std::string& what, Rest... rest) {
  for (auto& plugin : plugins_)
    if (plugin->storage && plugin->table.*callback != nullptr)
      return guarded(*plugin, what, [&] { return (plugin->table.*callback)(plugin->state, rest...); });
  return {DC_E_CONFIG,
          format("no storage of {} can read what an earlier run stored; say <storage><hdf5 restart=.../></storage>", model_->file)};
}

Status PluginHost::read(const dc_read_t& read) {
  return call_storage(&dc_plugin_t::on_read, format("in on_read of '{}' of step {}", read.variable->path, read.step), &read);
}

Status PluginHost::last_step(const dc_variable_info_t* variable, std::int64_t& step) {
  return call_storage(&dc_plugin_t::on_last_step, "in on_last_step", variable, &step);
}

Status PluginHost::passed(std::int64_t step) {
  Status first;
  for (const auto& plugin : plugins_) {
    if (plugin->disabled || plugin->table.on_passed == nullptr) continue;
    const Status call = guarded(*plugin, "at steps without data", [&] { return plugin->table.on_passed(plugin->state, step); });
    keep_first(first, call);
  }
  return first;
}

bool PluginHost::idle(Status& first_failure) {
  for (const auto& plugin : plugins_) {
    if (!plugin->called || plugin->disabled || plugin->table.on_idle == nullptr) continue;
    const Status call = guarded(*plugin, "in on_idle", [&] { return plugin->table.on_idle(plugin->state); });
    plugin->called = call.code == DC_AGAIN || call.code == DC_WAIT;
    keep_first(first_failure, call);
    if (call.code == DC_AGAIN) return true;
  }
  return false;
}

bool PluginHost::wants_idle() const noexcept {
  return std::any_of(plugins_.begin(), plugins_.end(),
                     [](const auto& plugin) { return plugin->called && !plugin->disabled && plugin->table.on_idle != nullptr; });
}

Status PluginHost::deliver(const Post& post) {
  if (post.plugin >= plugins_.size()) {
    Status unknown = {DC_E_INTERNAL, format("server {} sent a post to plugin {}, which is unknown here", post.from, post.plugin)};
    log_line(LogLevel::error, unknown.message);
    return unknown;
  }
  Loaded& plugin = *plugins_[post.plugin];
  if (plugin.disabled || !plugin.initialized || plugin.table.on_message == nullptr) return {};
  const Status call = guarded(plugin, format("at a message of server {}", post.from), [&] {
    return plugin.table.on_message(plugin.state, post.from, post.bytes.data(), post.bytes.size());
  });
  take_files(plugin);
  return call;
}

void PluginHost::abandon() noexcept {
  for (auto& plugin : plugins_) plugin->initialized = false;
}

Status PluginHost::finalize() {
  Status first;
  for (auto& plugin : plugins_) {
    Loaded& loaded = *plugin;
    if (!loaded.initialized || loaded.table.finalize == nullptr) continue;
    const Status call = guarded(loaded, "in finalize", [&] { return loaded.table.finalize(loaded.state); });
    loaded.initialized = false;
    keep_first(first, call);
  }
  return first;
}

}  // namespace damaris::server
