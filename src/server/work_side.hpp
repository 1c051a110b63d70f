// The side of the server that processes data: runs plugins, including the storage, and coordinates with other servers.
// Used by: Server, on the process's main thread, so that MPI stays FUNNELED.
// Before it: complete steps, signals and reads from the intake side. After it: files, and results for the intake side.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/model/model.hpp"
#include "core/shm/region.hpp"
#include "server/intake.hpp"
#include "server/library/coordinator.hpp"
#include "server/plugin_host.hpp"

namespace damaris::server {

class WorkSide {
 public:
  // Receives what plugins report outside of any step.
  using Report = std::function<void(const Status&)>;

  // Loads and initializes the plugins: throws Error if one is missing or fails. `clients`: ids of the expected clients, as far as known.
  WorkSide(std::shared_ptr<const model::Model> model, shm::Region& region, const VariableInfos& infos,
           std::unique_ptr<Coordinator> coordinator, std::vector<std::int32_t> clients, Report report);

  PluginHost& host() noexcept { return host_; }
  Coordinator& coordinator() noexcept { return *coordinator_; }

  // Sets the next step for the plugins; what it points to must stay valid until work() has returned `done`.
  void take(const dc_step_t& step) { step_ = step; }
  // Lets plugins process the step. `urgent`: a client or another step is waiting.
  PluginHost::Pass work(double age_s, bool urgent);
  // The step that a plugin is processing, unless it waits: its datasets must not be moved.
  std::optional<std::int64_t> working_at() const noexcept;
  // Call after datasets of the step have moved since the last pass.
  void data_moved() { host_.data_moved(step_); }

  // Delivers posts from plugins on other servers. Returns whether there were any.
  bool deliver_posts();
  // Lets plugins work outside of any step. Returns whether there may be more to do.
  bool idle();
  // Notifies plugins that all steps up to `step` have passed; `lost` and `never_attached` as in dc_host_t.
  void pass(std::int64_t step, std::vector<dc_lost_t> lost, std::size_t never_attached);
  std::int64_t passed() const noexcept { return passed_; }

 private:
  enum class WorkState { empty, working, waiting };

  std::unique_ptr<Coordinator> coordinator_;
  PluginHost host_;
  Report report_;
  WorkState state_ = WorkState::empty;
  dc_step_t step_ = {};                 // the current step of the plugins
  std::int64_t passed_ = shm::kNoStep;  // the last step that plugins have been notified of as passed
};

}  // namespace damaris::server
