#include "server/plugin_host.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/observed.hpp"
#include "core/base/process_guard.hpp"

namespace damaris::server {
namespace {

constexpr double kLongSeconds = 10;  // a longer callback is logged

void host_log(void*, int level, const char* text) { log_line(static_cast<LogLevel>(level), text == nullptr ? "" : text); }

}  // namespace

PluginHost::PluginHost(std::shared_ptr<const model::Model> model) : model_(std::move(model)) {
  for (const model::Plugin& plugin : model_->plugins) {
    plugins_.push_back(load_plugin(*model_, plugin));
    plugins_.back()->index = static_cast<std::uint32_t>(plugins_.size() - 1);
  }
  for (const model::Event& event : model_->events)
    for (const model::Action& action : event.actions)
      if (action.plugin < 0 && find_function(action) == nullptr) functions_.push_back(load_function(*model_, action));
}

PluginHost::~PluginHost() {
  try {
    finalize();
  } catch (...) {  // no memory for what a plugin has to say
  }
}

LoadedPlugin* PluginHost::find_function(const model::Action& action) const {
  const auto is_it = [&](const auto& one) { return one->library_name == action.library && one->function_name == action.function; };
  const auto found = std::find_if(functions_.begin(), functions_.end(), is_it);
  return found == functions_.end() ? nullptr : found->get();
}

void PluginHost::initialize(const RunFacts& facts) {
  facts_ = facts;
  const auto prepare = [&](LoadedPlugin& loaded) {
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
    host.fail = LoadedPlugin::fail;
    host.stored = LoadedPlugin::stored;
    host.send = LoadedPlugin::send;
    host.job = facts_.job.c_str();
    host.regions = facts_.regions.c_str();
    host.run = facts_.run.c_str();
    host.waits = LoadedPlugin::wait;
    host.partial = LoadedPlugin::note_partial;
    loaded.facts = &facts_;
  };
  for (auto& function : functions_) prepare(*function);
  for (auto& plugin : plugins_) {
    prepare(*plugin);
    LoadedPlugin& loaded = *plugin;
    if (loaded.table.init != nullptr) {
      const Status result = guarded(loaded, {"init"}, "in init", [&] { return loaded.table.init(&loaded.host, &loaded.state); });
      if (result.code < DC_OK)
        throw Error(static_cast<dc_code>(result.code), format("{}: {}", model::place(*model_, loaded.where), result.message));
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
Status PluginHost::guarded(LoadedPlugin& plugin, Callback callback, const std::string& what, Call&& call) {
  plugin.failure.clear();
  plugin.called = true;
  if (busy_) busy_(format("{} {}", plugin.name, what));
  const Clock::time_point start = Clock::now();
  Status result;
  try {
    const InCallback inside;
    const ThreadStateGuard thread_state;  // per callback, so that traps left enabled by a plugin affect nothing else
    result.code = observed({callback.name, "plugin", plugin.short_name.c_str(), callback.step, 0, nullptr, 0}, call);
  } catch (const std::bad_alloc&) {
    result.code = DC_E_MEMORY;
    plugin.failure = "out of memory";
  } catch (const std::exception& error) {
    result.code = DC_E_PLUGIN;
    plugin.failure = format("it threw: {}", error.what());
  } catch (...) {
    result.code = DC_E_PLUGIN;
    plugin.failure = "it threw something other than a std::exception";
  }
  if (busy_) busy_(waiting_);
  result_.busy_ns += static_cast<std::uint64_t>((Clock::now() - start).count());
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
  if (!plugin.initialized && plugin.function == nullptr) return result;  // in init: the start says it
  log_line(result.code == DC_E_NOT_STORED ? LogLevel::info
           : result.is_notice()           ? LogLevel::warning
                                          : LogLevel::error,
           result.message);
  if (plugin.storage && result.code == DC_E_MEMORY) throw std::bad_alloc();  // ends the server: recovery stores the step
  return result;
}

// A failure in init always stops the run: the settings must be corrected.
bool PluginHost::can_be_disabled(const LoadedPlugin& plugin) const {
  return !plugin.storage && (plugin.initialized || plugin.function != nullptr) &&
         model_->architecture.plugin_policy == model::PluginPolicy::disable;
}

void PluginHost::keep_first(Status& first, const Status& call) {
  if ((call.code < DC_OK && first.code >= DC_OK) || (call.is_notice() && first.code == DC_OK)) first = call;
}

Status PluginHost::run(const model::Action& action, const dc_event_t& event, const dc_step_t& step) {
  const std::string what = format("on event '{}' of step {}", event.name, event.step);
  LoadedPlugin* const target = action.plugin >= 0 ? plugins_[static_cast<std::size_t>(action.plugin)].get() : find_function(action);
  if (target == nullptr || target->disabled) return {};
  return guarded(*target, {target->function != nullptr ? "action" : "on_event", event.step}, what, [&] {
    if (target->function != nullptr) return target->function(&event, &step, &target->host);
    return target->table.on_event == nullptr ? DC_OK : target->table.on_event(target->state, &event, &step);
  });
}

void PluginHost::begin(const dc_step_t& step) {
  reported_failures_ = std::exchange(failures_, {});
  failure_texts_.clear();
  for (const std::string& failure : reported_failures_) failure_texts_.push_back(failure.c_str());
  stored_datasets_.clear();
  for (std::size_t i = 0; i < step.dataset_count; ++i)
    if (model_->variables[step.datasets[i].variable->id].store) stored_datasets_.push_back(step.datasets[i]);
  to_store_ = step;
  to_store_.datasets = stored_datasets_.data();
  to_store_.dataset_count = stored_datasets_.size();
  to_store_.plugin_failure_count = failure_texts_.size();
  to_store_.plugin_failures = failure_texts_.data();
  next_plugin_ = 0;
  begun_ = true;
}

PluginHost::Outcome PluginHost::process(const dc_step_t& step) {
  trouble_.clear();
  if (!begun_) begin(step);
  to_store_.age_s = step.age_s;
  to_store_.urgent = step.urgent;
  to_store_.ending = step.ending;
  for (; next_plugin_ < plugins_.size(); ++next_plugin_) {
    LoadedPlugin& plugin = *plugins_[next_plugin_];
    if (plugin.disabled || plugin.table.on_step == nullptr) continue;
    const Status call = guarded(plugin, {"on_step", step.step}, format("at step {}", step.step),
                                [&] { return plugin.table.on_step(plugin.state, plugin.storage ? &to_store_ : &step); });
    collect_files(plugin);
    update_wait_text(plugin, call);
    if (call.code == DC_AGAIN) return Outcome::again;
    if (call.code == DC_WAIT) return waiting(plugin, step);
    note(plugin, call);
  }
  begun_ = false;
  return Outcome::done;
}

PluginHost::Outcome PluginHost::waiting(const LoadedPlugin& plugin, const dc_step_t& step) {
  if (plugin.storage && !plugin.failure.empty()) trouble_ = format("{}: {}", plugin.name, plugin.failure);
  if (!trouble_.empty() && step.ending != 0) begun_ = false;
  return Outcome::waiting;
}

// Between callbacks the server is not inside a plugin, but it may be waiting for this one.
void PluginHost::update_wait_text(LoadedPlugin& plugin, const Status& call) {
  if (call.code != DC_AGAIN && call.code != DC_WAIT) plugin.waits.clear();
  if (plugin.waits.empty() && waiting_.empty()) return;
  waiting_ = plugin.waits.empty() ? "" : format("{}, {}", plugin.name, plugin.waits);
  if (busy_) busy_(waiting_);
}

PluginHost::StepResult PluginHost::pop_result() { return std::exchange(result_, {}); }

void PluginHost::collect_files(LoadedPlugin& plugin) {
  std::move(plugin.files.begin(), plugin.files.end(), std::back_inserter(result_.files));
  plugin.files.clear();
}

void PluginHost::note(LoadedPlugin& plugin, const Status& call) {
  if (call.is_notice()) result_.notices.push_back(call);
  if (call.code >= DC_OK) return;
  if (plugin.storage) result_.durable = false;
  if (result_.first_failure.code == DC_OK) result_.first_failure = call;
}

template <class Member, class... Rest>
Status PluginHost::call_storage(Member member, Callback callback, const std::string& what, Rest... rest) {
  for (auto& plugin : plugins_)
    if (plugin->storage && plugin->table.*member != nullptr)
      return guarded(*plugin, callback, what, [&] { return (plugin->table.*member)(plugin->state, rest...); });
  return {DC_E_CONFIG,
          format("no storage of {} can read what an earlier run stored; say <storage><hdf5 restart=.../></storage>", model_->file)};
}

Status PluginHost::read(const dc_read_t& read) {
  return call_storage(&dc_plugin_t::on_read, {"on_read", read.step},
                      format("in on_read of '{}' of step {}", read.variable->path, read.step), &read);
}

Status PluginHost::last_step(const dc_variable_info_t* variable, std::int64_t& step) {
  return call_storage(&dc_plugin_t::on_last_step, {"on_last_step"}, "in on_last_step", variable, &step);
}

Status PluginHost::passed(std::int64_t step) {
  Status first;
  for (const auto& plugin : plugins_) {
    if (plugin->disabled || plugin->table.on_passed == nullptr) continue;
    const Status call = guarded(*plugin, {"on_passed", step}, "at steps without data",
                                [&] { return plugin->table.on_passed(plugin->state, step); });
    keep_first(first, call);
  }
  return first;
}

bool PluginHost::idle(Status& first_failure) {
  for (const auto& plugin : plugins_) {
    if (!plugin->called || plugin->disabled || plugin->table.on_idle == nullptr) continue;
    const Status call = guarded(*plugin, {"on_idle"}, "in on_idle", [&] { return plugin->table.on_idle(plugin->state); });
    plugin->called = call.code == DC_AGAIN || call.code == DC_WAIT;
    keep_first(first_failure, call);
    if (call.code == DC_AGAIN) return true;
  }
  return false;
}

std::set<std::int64_t> PluginHost::partial_steps() const {
  std::set<std::int64_t> steps;
  for (const auto& plugin : plugins_) steps.insert(plugin->partial.begin(), plugin->partial.end());
  return steps;
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
  LoadedPlugin& plugin = *plugins_[post.plugin];
  if (plugin.disabled || !plugin.initialized || plugin.table.on_message == nullptr) return {};
  const Status call = guarded(plugin, {"on_message"}, format("at a message of server {}", post.from), [&] {
    return plugin.table.on_message(plugin.state, post.from, post.bytes.data(), post.bytes.size());
  });
  collect_files(plugin);
  return call;
}

void PluginHost::abandon() noexcept {
  for (auto& plugin : plugins_) plugin->initialized = false;
}

Status PluginHost::finalize() {
  Status first;
  for (auto& plugin : plugins_) {
    LoadedPlugin& loaded = *plugin;
    if (!loaded.initialized || loaded.table.finalize == nullptr) continue;
    const Status call = guarded(loaded, {"finalize"}, "in finalize", [&] { return loaded.table.finalize(loaded.state); });
    loaded.initialized = false;
    keep_first(first, call);
  }
  return first;
}

}  // namespace damaris::server
