// What a server does with what it has taken in: it runs plugins, the storage among them, and agrees with other servers.
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
  // Gets what plugins report outside any step.
  using Report = std::function<void(const Status&)>;

  // Loads and initialises the plugins: throws Error when one is missing or refuses. `clients`: ids of those to come, as far as they are
  // known.
  WorkSide(std::shared_ptr<const model::Model> model, shm::Region& region, const VariableInfos& infos,
           std::unique_ptr<Coordinator> coordinator, std::vector<std::int32_t> clients, Report report);

  PluginHost& host() noexcept { return host_; }
  Coordinator& coordinator() noexcept { return *coordinator_; }

  // The next step for the plugins; what it points to must stay until work() has returned `done`.
  void take(const dc_step_t& step) { step_ = step; }
  // Lets plugins work at the step. `urgent`: somebody waits for it.
  PluginHost::Pass work(double age_s, bool urgent);
  // The step at which a plugin works, unless it waits: its datasets must stay where they are.
  std::optional<std::int64_t> working_at() const noexcept;
  // Datasets of the step lie elsewhere than at the last pass.
  void data_moved() { host_.data_moved(step_); }

  // Hands out what plugins on other servers have sent to those here. Returns whether there was something.
  bool deliver_posts();
  // Lets a plugin do what it has to do outside any step. Returns whether there may be more at once.
  bool idle();
  // No other steps come up to `step`; `lost` and `never_attached` as dc_host_t has them.
  void pass(std::int64_t step, std::vector<dc_lost_t> lost, std::size_t never_attached);
  std::int64_t passed() const noexcept { return passed_; }

 private:
  enum class Progress { empty, working, waiting };

  std::unique_ptr<Coordinator> coordinator_;
  PluginHost host_;
  Report report_;
  Progress progress_ = Progress::empty;
  dc_step_t step_ = {};                 // that the plugins are at
  std::int64_t passed_ = shm::kNoStep;  // what plugins know of steps that bring nothing
};

}  // namespace damaris::server
