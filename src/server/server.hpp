// The server: an intake side, which no storage and no plugin can stop, and a work side, which calls them. run() gives each a thread; poll()
// serves both in turn.
// Used by: the process on the dedicated core; in place, the simulation's own thread through poll().
// Before it: lanes and arenas of one region. After it: plugins, and the coordinator between servers.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "core/model/model.hpp"
#include "core/shm/region.hpp"
#include "server/failures.hpp"
#include "server/handover.hpp"
#include "server/intake.hpp"
#include "server/intake_side.hpp"
#include "server/library/serving.hpp"
#include "server/work_side.hpp"

namespace damaris::server {

class Server final : public Serving {
 public:
  // Loads and initializes the plugins: throws Error if one is missing or fails, before any client is served.
  // `clients`: ids of the expected clients, as far as known; for the plugins.
  Server(std::shared_ptr<const model::Model> model, std::shared_ptr<shm::Region> region, std::unique_ptr<Coordinator> coordinator,
         std::vector<std::int32_t> clients);
  ~Server() override;

  const std::shared_ptr<shm::Region>& region() const override { return region_; }
  bool poll() override;
  bool finished() override;
  bool is_blocked() override {
    const bool log_alone = intake_.logs_are_blocked() && !work_.waits();
    if (!work_.is_blocked() && !log_alone) return false;
    const std::int64_t ended = region_->header().last_complete.load(std::memory_order_relaxed);
    return work_.agreed(ended) && !intake_.has_globals(ended);  // an agreement may come in the same look as the decisions before it
  }
  bool busy() override { return state_ != State::broken && (intake_.busy() || !work_.agreed(intake_.completed())); }
  Status run(const std::atomic<bool>* stop = nullptr) override;
  Status close() override;
  const Status& first_failure() const noexcept { return failures_.first(); }
  const Status& end_failure() const noexcept override { return end_failure_; }

  // Takes over the state of a dead server in its region: every published block, and the progress of each client.
  // Call once, before run(). Steps that cannot be stored then stay in the region.
  // Throws Error(DC_E_NO_OUTPUT) if spilled blocks are missing, unless `ignore_missing_spill`.
  void adopt(bool ignore_missing_spill = false) { intake_.adopt(ignore_missing_spill); }
  const std::optional<Adoption>& adoption() const noexcept { return intake_.adoption(); }
  // After run(): the steps that the recovery has recorded as incomplete.
  std::set<std::int64_t> partial_steps() const { return work_.partial_steps(); }

 private:
  enum class State {
    polled,    // in place, or before run(): the caller's thread calls poll()
    serving,   // inside run()
    stopping,  // by a signal: clients are no longer served
    over,      // everything is stored, also on the other servers
    stopped,   // the same, after stopping
    closing,   // finalizing the plugins
    closed,
    broken,  // ended by a fault: unstored data are left to recovery
  };

  bool serve_once();
  bool intake_once();
  void dismiss_clients();
  bool holds_clients();
  bool skips_views();
  bool is_out_of_time();
  std::int64_t hold_ms() const;
  void check_for_stop(const std::atomic<bool>* stop);
  bool close_if_done();
  void serve(const std::atomic<bool>* stop);
  void intake_loop(const std::atomic<bool>* stop);
  void work_loop();
  void begin_close();
  void report_end();
  void end_close();
  void fail(const Status& cause) noexcept;
  void end_by_fault(const Status& cause) noexcept;
  void preserve_unstored_data() noexcept;
  void note_stopped();

  std::shared_ptr<const model::Model> model_;
  std::shared_ptr<shm::Region> region_;
  const VariableInfos infos_;
  const bool learns_client_ids_;  // detached: ids are known only when clients attach
  Failures failures_;
  Handover handover_;
  WorkSide work_;
  IntakeSide intake_;
  State state_ = State::polled;  // the intake side's, as all that follows
  bool leave_submitted_ = false, was_stopped_ = false;
  bool end_reported_ = false;  // clients have the result of the plugins' finalize in their mailboxes
  Status end_failure_;
  std::optional<Deadline> hold_deadline_;   // set when all clients have left
  std::optional<Deadline> views_deadline_;  // while a client waits for its release
  bool views_skipped_ = false;
  std::optional<Deadline> last_try_deadline_;  // the same, or when the server was asked to stop
};

}  // namespace damaris::server
