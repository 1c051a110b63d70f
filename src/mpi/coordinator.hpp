// Agreement of several servers over MPI: server 0 gives every global event its place in one order.
// Used by: the server's dispatch thread (the one thread that calls MPI, FUNNELED); never blocks.
// Before it: announcements of the servers' event engines. After it: the same decisions in the same order on every server.
//
//   server k -> 0   announce(key)   all its clients have sent it        complete(step)  it announces nothing more up to step
//                   abandon(key)    it waits no longer
//   server 0 -> k   run(key, n)     all servers have announced it       cancel(key)     one never will, or has abandoned it
//                   agreed(step)    all have completed step             bye             all are at their end
// Messages between two servers do not overtake each other, so decisions arrive in the order they were made.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "mpi/mpi_call.hpp"
#include "server/coordinator.hpp"

namespace damaris::mpi {

// The communicators between the servers. Shared, so that a start that fails on some ranks can free them on all at the same point.
struct Channels {
  // Collective over `servers`.
  explicit Channels(MPI_Comm servers) : messages(Communicator::duplicate(servers)), plugins(Communicator::duplicate(servers)) {}
  Communicator messages;  // of the coordinators
  Communicator plugins;   // for what plugins do together
};

class MpiCoordinator : public server::Coordinator {
 public:
  // `globals`: the model has global events; without any, no message is ever sent.
  // `in_place`: every end of iteration waits for all (DESIGN 4b rule 5).
  MpiCoordinator(std::shared_ptr<Channels> channels, bool globals, bool in_place);
  ~MpiCoordinator() override;

  int index() const override { return index_; }
  int count() const override { return count_; }
  const void* communicator() const override { return channels_->plugins.address(); }
  void announce(const server::InstanceKey& key) override;
  void complete(std::int64_t step) override;
  bool agreed(std::int64_t step) const override { return !globals_ || !in_place_ || step <= agreed_; }
  std::optional<server::Decision> poll() override;
  bool leave() override;
  void abandon(const server::InstanceKey& key) override;

 private:
  enum Kind : std::int32_t { kAnnounce = 1, kComplete, kAbandon, kRun, kCancel, kAgreed, kBye };
  struct Message {
    std::int32_t kind = 0;
    std::uint32_t event = 0, instance = 0, padding = 0;
    std::int64_t step = 0;
    std::uint64_t order = 0;
  };
  struct Sending {
    Message message;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  static Message about(Kind kind, const server::InstanceKey& key);
  void send(int to, const Message& message);
  void send_all(const Message& message);
  void receive_all();
  void handle(int from, const Message& message);
  void note_announced(int from, const server::InstanceKey& key);
  void note_abandoned(const server::InstanceKey& key);
  void note_complete(int from, std::int64_t step);
  bool can_never_run(const server::InstanceKey& key, const std::set<int>& announced) const;
  void prune_sent();

  MPI_Comm messages() const { return channels_->messages.get(); }

  std::shared_ptr<Channels> channels_;
  bool globals_, in_place_;
  int index_ = 0, count_ = 1;
  std::deque<Sending> sending_;  // buffers live until MPI has taken them; a deque never moves them
  std::deque<server::Decision> decisions_;
  std::int64_t completed_ = -1, agreed_ = -1;
  bool bye_ = false;
  // Server 0 only:
  std::map<server::InstanceKey, std::set<int>> announced_;
  std::vector<std::int64_t> completed_by_;
  std::uint64_t next_order_ = 0;
};

}  // namespace damaris::mpi
