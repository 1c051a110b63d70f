// The server: drains lanes, keeps the ledger, runs actions, hands complete iterations to the plugins, releases blocks.
// Used by: one thread of the process on the dedicated core; in place, the simulation's own thread through poll().
// Before it: lanes and arenas of one region. After it: plugins, and the coordinator between servers.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "core/base/maker.hpp"
#include "core/model/model.hpp"
#include "core/shm/region.hpp"
#include "server/intake.hpp"
#include "server/ladder.hpp"
#include "server/ledger.hpp"
#include "server/library/serving.hpp"
#include "server/plugin_host.hpp"
#include "server/reads.hpp"
#include "server/roster.hpp"
#include "server/signals.hpp"

namespace damaris::server {

class Server final : public Serving {
 public:
  // Loads and initialises the plugins: throws Error when one is missing or refuses, before any client is served.
  // `clients`: ids of the clients to come, as far as they are known; for the plugins.
  Server(std::shared_ptr<const model::Model> model, std::shared_ptr<shm::Region> region, std::unique_ptr<Coordinator> coordinator,
         std::vector<std::int32_t> clients);
  ~Server() override;

  const std::shared_ptr<shm::Region>& region() const override { return region_; }
  bool poll() override;
  bool finished() override;
  bool busy() override;

  // Takes over what a dead server had in hand, in a region that it made: every published block, and of each client how far it had come.
  // Once, before run(). Iterations that cannot be stored then stay in the region.
  // `gives_up_spilled`: what cannot be found in its spill file; else that throws Error(DC_E_NO_OUTPUT).
  void adopt(bool gives_up_spilled = false);
  std::uint64_t given_up() const noexcept { return given_up_; }
  // The lowest and the highest step of what it found in the spill file then.
  std::optional<std::pair<std::int64_t, std::int64_t>> spilled_steps() const noexcept { return spilled_steps_; }
  Status run(const std::atomic<bool>* stop = nullptr) override;
  Status close() override;
  const Status& first_failure() const noexcept { return first_failure_; }
  const Status& end_failure() const noexcept override { return end_failure_; }

 private:
  bool admit();
  bool idle();
  bool drain();
  bool drain_lane(Member& member, Lane& lane);
  void dispatch(Member& member, Lane& lane, const shm::Message& event);
  void take_question(Member& member, Lane& lane, const shm::Message& event);
  void adopt_spilled(bool gives_up_missing);
  void restore_open_steps();
  void restore(Iteration& iteration);
  void adopt_arena(Member& keeper, Lane& lane, const std::unordered_set<std::uint64_t>& waiting);
  void take_time(const shm::Message& event);
  void leave_out(Member& member, const Lane& lane, const shm::Message& event);
  void take_refusal(Member& member, Lane& lane, const shm::Message& event);
  bool relieve();
  void release(std::int64_t step, bool durable);
  void take_block(Member& member, const Lane& lane, const shm::Message& event);
  void reject(Member& member, Lane& lane, const std::string& why);
  bool watch_clients();
  void reclaim();
  bool process_next();
  bool process(Iteration& iteration, bool another_waits);
  void begin(Iteration& iteration);
  void end(Iteration& iteration);
  bool deliver_posts();
  void account_for(Iteration& iteration);
  void publish_frontier();
  void tell_passed(std::int64_t step);
  void list_lost();
  void let_go();
  bool is_held();
  void tell_who_is_awaited();
  void stop_clients();
  void note_stopped();
  void serve(const std::atomic<bool>* stop);
  void lose(int code, const std::string& cause) noexcept;
  void keep_what_is_left() noexcept;
  void take_no_more();
  void note_failure(int code, const std::string& sentence);
  void hear(const Status& call);

  static constexpr int kEventsPerVisit = 256;  // of one lane, so that no client starves the others

  const Maker maker_;
  std::shared_ptr<const model::Model> model_;
  std::shared_ptr<shm::Region> region_;
  std::unique_ptr<Coordinator> coordinator_;
  VariableInfos infos_;
  PluginHost host_;
  Ledger ledger_;
  Reads reads_;
  Roster roster_;
  Signals signals_;
  Ladder ladder_;
  std::int64_t highest_step_ = shm::kNoStep;
  std::int64_t completed_ = shm::kNoStep;
  std::int64_t passed_ = shm::kNoStep;  // what plugins were told of iterations that bring nothing
  bool ids_are_told_ = false;           // of the clients, before they come
  dc_iteration_t in_hand_ = {};         // of the iteration that the plugins are at
  bool in_work_ = false;                // a plugin has begun with it, and does not wait
  bool storage_failed_ = false;
  bool adopted_ = false;        // the region is a dead server's
  std::uint64_t given_up_ = 0;  // datasets of a dead server that were spilled and lost, or came after their step was stored
  std::optional<std::pair<std::int64_t, std::int64_t>> spilled_steps_;
  std::string lost_sentence_;            // about them, or an arena that is damaged: nobody knows of which steps that was
  std::int64_t settled_ = shm::kNoStep;  // which had stored all steps up to this one, or given them up
  bool stopping_ = false;
  bool closed_ = false;
  bool closing_ = false;                // the plugins have ended
  bool runs_ = false;                   // by itself, and not in place
  bool came_to_its_end_ = false;        // of run()
  std::optional<Deadline> held_until_;  // all clients are over
  std::optional<Deadline> tells_awaited_at_;
  bool told_awaited_ = false;
  Status end_failure_;
  Deadline attach_deadline_;
  Clock::time_point next_look_ = Clock::now();
  Status first_failure_;
};

}  // namespace damaris::server
