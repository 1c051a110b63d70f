// The side of the server that faces its clients: drains lanes, validates blocks, keeps the ledger, spills, answers reads, detects dead
// clients, and releases blocks once the work side has stored them.
// Used by: Server, one thread. Calls plugins, HDF5 and MPI only through signals and reads, which it passes to the work side.
// Before it: lanes and arenas of one region. After it: complete steps for the work side; frontier, reports and free blocks for clients.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "core/model/model.hpp"
#include "core/shm/region.hpp"
#include "server/adoption.hpp"
#include "server/back_pressure.hpp"
#include "server/failures.hpp"
#include "server/intake.hpp"
#include "server/ledger.hpp"
#include "server/reads.hpp"
#include "server/roster.hpp"
#include "server/signals.hpp"
#include "server/work_side.hpp"

namespace damaris::server {

class IntakeSide {
 public:
  IntakeSide(std::shared_ptr<const model::Model> model, std::shared_ptr<shm::Region> region, const VariableInfos& infos,
             WorkSide& work, Failures& failures);

  // Takes over the contents of a dead server's region. Call once, before the first drain. Throws as Adoption does.
  void adopt(bool give_up_spilled);
  const std::optional<Adoption>& adoption() const noexcept { return adoption_; }

  // Admits clients that have attached since the last call. Returns whether there was one.
  bool admit() { return !roster_.all_present() && roster_.admit(); }
  // Ids of the admitted clients, ascending.
  std::vector<std::int32_t> ids() const;
  // Each returns whether something was done.
  bool drain();
  bool watch_clients();
  bool decide_signals() { return signals_.decide(); }
  bool serve_next_read() { return reads_.serve_next(); }
  bool deliver_mail() { return roster_.deliver(); }
  // Moves a block to the spill file if back-pressure requires it; never a block of the step that a plugin is processing.
  bool spill_one();

  // The next complete step that is not processed, or nullptr; `another` is set if at least one more is waiting.
  Step* next_complete(bool& another);
  // Marks the step as begun. The view is valid until end().
  dc_step_t begin(Step& step);
  // Marks the step as processed: reports errors, releases blocks and advances the frontier.
  void end(Step& step, const PluginHost::StepResult& result);
  // Advances over complete steps without data. Returns the last of them; nothing if the frontier has not moved.
  std::optional<std::int64_t> advance();
  void publish_frontier();

  // Clients that will be missing from later steps. In a damaged region no step of a dead client is certain beyond the settled ones.
  std::vector<dc_lost_t> lost() const;
  std::size_t never_attached() const;

  // Accepts no more clients, and no messages beyond those in the lanes now.
  void stop();
  void stop_accepting();
  // Lets finalized clients leave whose last step is processed; `all`: every finalized client.
  void release_clients(bool all);
  bool has_messages() const;
  // True if a later pass may have work even without a new message.
  bool busy();
  bool all_left() const { return roster_.all_left(); }
  bool is_drained() const { return ledger_.empty() && reads_.empty() && !signals_.pending(); }
  bool client_waits() const;
  void end_signals() { signals_.complete(kAllSteps); }

  // Records a failure; sends a notice to all clients.
  void report(const Status& status);
  void notify_all_clients(const Status& status) { roster_.notify_all_clients({highest_step(), status}); }

  Spill& spill_file() noexcept { return ledger_.spill_file(); }
  bool all_stored() const noexcept { return all_durable_; }

 private:
  bool drain_lane(Member& member, Lane& lane);
  void dispatch(Member& member, Lane& lane, const shm::Message& message);
  void take_read_request(Member& member, Lane& lane, const shm::Message& message);
  void take_refusal(Member& member, Lane& lane, const shm::Message& message);
  void take_block(Member& member, const Lane& lane, const shm::Message& message);
  void reject(Member& member, Lane& lane, const std::string& why);
  void stop_waiting();
  void reclaim();
  void account_for(Step& step) const;
  void release(std::int64_t step, bool durable);
  std::int64_t highest_step() const noexcept { return std::max<std::int64_t>(ledger_.highest_step(), 0); }

  std::shared_ptr<const model::Model> model_;
  std::shared_ptr<shm::Region> region_;
  const VariableInfos& infos_;
  WorkSide& work_;
  Failures& failures_;
  Ledger ledger_;
  Reads reads_;
  Roster roster_;
  Signals signals_;
  BackPressure back_pressure_;
  std::optional<Adoption> adoption_;  // set when recovering a dead server's region
  std::int64_t completed_ = shm::kNoStep;
  bool all_durable_ = true;
  Deadline attach_deadline_;
  Clock::time_point next_watch_ = Clock::now();
};

}  // namespace damaris::server
