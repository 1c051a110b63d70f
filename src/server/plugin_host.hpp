// The plugin host: finds, loads and calls plugins, and catches what they throw. No other place loads code.
// Used by: the server's dispatch thread; damaris-check --load-plugins without a server.
// Before it: the action table of the model. After it: a plugin's own library.
#pragma once

#include <damaris/plugin.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/creator_process.hpp"
#include "core/base/error.hpp"
#include "core/model/model.hpp"
#include "server/library/coordinator.hpp"

namespace damaris::server {

// A file a storage plugin made durable in the present call.
struct StoredFile {
  std::string path;
  std::uint64_t bytes = 0, raw_bytes = 0;
};

// What the host tells plugins about the run; outlives the host.
struct RunFacts {
  std::string host_name, job, regions, run;
  int server_index = 0;
  int server_count = 1;
  std::vector<std::int32_t> clients;
  const std::vector<dc_variable_info_t>* variables = nullptr;
  const void* communicator = nullptr;
  std::function<bool(int server, std::uint32_t plugin, std::string bytes)> send;
};

class PluginHost {
 public:
  // Loads every plugin and action of the model. Throws Error(DC_E_PLUGIN or DC_E_CONFIG) with the XML line when a file or symbol is
  // missing or of another ABI. Nothing is called yet.
  explicit PluginHost(std::shared_ptr<const model::Model> model);
  ~PluginHost();
  PluginHost(const PluginHost&) = delete;
  PluginHost& operator=(const PluginHost&) = delete;

  // Calls every init. Throws Error with the plugin's own code and sentence when one refuses.
  void initialize(const RunFacts& facts);
  // The clients that are known now: `dc_host_t::clients`.
  void set_clients(std::vector<std::int32_t> clients);
  // Clients that are lost now, and how many never came: `dc_host_t::lost`, `never_attached`.
  void set_lost(std::vector<dc_lost_t> lost, std::size_t never_attached);
  // Runs one action. A plugin that failed and was switched off is passed over.
  Status run(const model::Action& action, const dc_event_t& event, const dc_step_t& step);
  // Gives a complete step to every plugin, storage first. A plugin may leave some of its work for the next pass.
  enum class Pass {
    done,     // all have had it: take the result
    again,    // there is more to do at once
    waiting,  // a plugin waits for its time or for another server
  };
  struct StepResult {
    Status first_failure;
    bool durable = true;  // no storage plugin failed
    std::vector<Status> notices;
    std::vector<StoredFile> files;
  };
  // To be called with the same step until it is done; `step` and what it points to must stay until then.
  Pass process(const dc_step_t& step);
  // Datasets of the step in hand lie elsewhere than at the last pass.
  void data_moved(const dc_step_t& step) {
    if (begun_) select_stored_datasets(step);
  }
  StepResult take_result();
  // Lets the storage fill what a client asks for, or name the last step it could; `variable` may be NULL. A refusal is the client's.
  Status read(const dc_read_t& read);
  Status last_step(const dc_variable_info_t* variable, std::int64_t& step);
  // Tells every plugin that no other steps come up to `step`. Returns the first failure, or else notice, if any.
  Status passed(std::int64_t step);
  // Lets one plugin work that has something to do. Returns whether there may be more at once; `first_failure` gets a failure or notice, if any.
  bool idle(Status& first_failure);
  // Hands a post to its plugin. Returns its failure or notice, if any.
  Status deliver(const Post& post);
  // Ends every plugin, also one that was switched off, so that it can free what it has. Returns as passed().
  Status finalize();
  // Calls no plugin any more, not even its finalize: what a fault has left undone is for a recovery.
  void abandon() noexcept;
  // Called with "plugin 'x' at step 5" before every callback, and after it with "", or with what a plugin says that it waits
  // for: a client that waits can then name it.
  void watch(std::function<void(const std::string&)> busy) { busy_ = std::move(busy); }

 private:
  struct Loaded;
  struct Function;
  void load_plugin(const model::Plugin& plugin);
  void load_function(const model::Action& action);
  void begin(const dc_step_t& step);
  void select_stored_datasets(const dc_step_t& step);
  template <class Callback, class... Rest>
  Status call_storage(Callback callback, const std::string& what, Rest... rest);
  void take_files(Loaded& plugin);
  void note(Loaded& plugin, const Status& call);
  void update_wait_text(Loaded& plugin, const Status& call);
  template <class Call>
  Status guarded(Loaded& plugin, const std::string& what, Call&& call);
  std::string place(const model::Location& where) const;
  bool can_be_disabled(const Loaded& plugin) const;
  static void keep_first(Status& first, const Status& call);

  const CreatorProcess creator_;
  std::shared_ptr<const model::Model> model_;
  std::vector<std::unique_ptr<Loaded>> plugins_;    // as model_->plugins
  std::vector<std::unique_ptr<Loaded>> functions_;  // one per (library, function)
  RunFacts facts_;
  std::vector<dc_lost_t> lost_;
  // The step in hand, until all plugins have had it.
  bool begun_ = false;
  std::size_t next_plugin_ = 0;
  std::vector<dc_dataset_t> stored_datasets_;  // without the variables that are not to be stored
  dc_step_t to_store_ = {};
  StepResult result_;
  // Sentences of plugins that failed: for the storage, with the next step that it is given.
  std::vector<std::string> failures_, reported_failures_;
  std::vector<const char*> failure_texts_;
  std::function<void(const std::string&)> busy_;
  std::string waiting_;  // what is to be read while no callback runs
};

}  // namespace damaris::server
