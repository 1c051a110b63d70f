// The plugin host: has plugins loaded, calls them, and catches their exceptions.
// Used by: the server's work thread; damaris-check --load-plugins without a server.
// Before it: loaded_plugin.hpp. After it: a plugin's own library.
#pragma once

#include <damaris/plugin.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/model/model.hpp"
#include "server/library/serving.hpp"
#include "server/loaded_plugin.hpp"
#include "trace/slot.hpp"

namespace damaris::server {

class PluginHost {
 public:
  // Loads every plugin and action of the model, without calling any. Throws Error(DC_E_PLUGIN or DC_E_VERSION) with the XML line if a file
  // or symbol is missing or has another ABI.
  explicit PluginHost(std::shared_ptr<const model::Model> model);
  ~PluginHost();
  PluginHost(const PluginHost&) = delete;
  PluginHost& operator=(const PluginHost&) = delete;

  // Calls every init. Throws Error with the plugin's own code and message if one fails.
  void initialize(const RunFacts& facts);
  // Sets the currently known clients: `dc_host_t::clients`.
  void set_clients(std::vector<std::int32_t> clients);
  // Sets the clients lost so far, and the number that never attached: `dc_host_t::lost`, `never_attached`.
  void set_lost(std::vector<dc_lost_t> lost, std::size_t never_attached);
  // Runs one action. Skips a plugin that has been switched off after a failure.
  Status run(const model::Action& action, const dc_event_t& event, const dc_step_t& step);
  // What comes of handing a complete step to every plugin, storage first. A plugin may leave work for the next call.
  enum class Outcome {
    done,     // all plugins are done: take the result
    again,    // there is more to do now
    waiting,  // a plugin waits for its turn, for another server, or to try again
  };
  struct StepResult {
    Status first_failure;
    bool durable = true;  // no storage plugin failed
    std::vector<Status> notices;
    std::vector<StoredFile> files;
    std::uint64_t busy_ns = 0;  // in callbacks since the result before
  };
  // Call with the same step until it returns done, or waiting with trouble() when no time is left; `step` and what it points to must stay
  // valid until then.
  Outcome process(const dc_step_t& step);
  // Why the file system keeps the storage from storing the step for now; "": it does not.
  const std::string& trouble() const noexcept { return trouble_; }
  StepResult pop_result();
  // Forward a client's request to the storage: to fill a block, or to return the last stored step; `variable` may be NULL. The status is
  // for the client.
  Status read(const dc_read_t& read);
  Status last_step(const dc_variable_info_t* variable, std::int64_t& step);
  // Notifies every plugin that all steps up to `step` have passed. Returns the first failure, or else notice, if any.
  Status passed(std::int64_t step);
  // Calls on_idle of plugins until one has more to do. Returns whether one has; `first_failure` receives a failure or notice, if any.
  bool idle(Status& first_failure);
  // True if idle() may have something to do.
  bool wants_idle() const noexcept;
  // In a recovery: the steps that the storage has recorded as incomplete.
  std::set<std::int64_t> partial_steps() const;
  // Delivers a post to its plugin. Returns the plugin's failure or notice, if any.
  Status deliver(const Post& post);
  // Finalizes every plugin, also those switched off, so that they can free resources. Returns as passed().
  Status finalize();
  // Calls no plugin any more, not even its finalize: after a fault the rest is left to recovery.
  void abandon() noexcept;
  // Sets a function called with "plugin 'x' at step 5" before every callback, and after it with "" or with what the plugin waits for, so
  // that time-out messages of clients can name it.
  void watch(std::function<void(const std::string&)> busy) { busy_ = std::move(busy); }

 private:
  // Which callback, as a recorder knows it, and about which step, if it is about one.
  struct Callback {
    const char* name;
    std::int64_t step = trace::kNowhere;
  };
  LoadedPlugin* find_function(const model::Action& action) const;
  void begin(const dc_step_t& step);
  template <class Member, class... Rest>
  Status call_storage(Member member, Callback callback, const std::string& what, Rest... rest);
  Outcome waiting(const LoadedPlugin& plugin, const dc_step_t& step);
  void collect_files(LoadedPlugin& plugin);
  void note(LoadedPlugin& plugin, const Status& call);
  void update_wait_text(LoadedPlugin& plugin, const Status& call);
  template <class Call>
  Status guarded(LoadedPlugin& plugin, Callback callback, const std::string& what, Call&& call);
  bool can_be_disabled(const LoadedPlugin& plugin) const;
  static void keep_first(Status& first, const Status& call);

  std::shared_ptr<const model::Model> model_;
  std::vector<std::unique_ptr<LoadedPlugin>> plugins_;    // as model_->plugins
  std::vector<std::unique_ptr<LoadedPlugin>> functions_;  // one per (library, function)
  RunFacts facts_;
  std::vector<dc_lost_t> lost_;
  // The current step, until all plugins are done with it.
  bool begun_ = false;
  std::size_t next_plugin_ = 0;
  std::vector<dc_dataset_t> stored_datasets_;  // without variables that have store="false"
  dc_step_t to_store_ = {};
  StepResult result_;
  std::string trouble_;
  // Messages of failed plugins: for the storage, with its next step.
  std::vector<std::string> failures_, reported_failures_;
  std::vector<const char*> failure_texts_;
  std::function<void(const std::string&)> busy_;
  std::string waiting_;  // shown as the server's activity between callbacks
};

}  // namespace damaris::server
