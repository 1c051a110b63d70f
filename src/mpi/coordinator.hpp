// Agreement between several servers over MPI: server 0 assigns every global event its position in one total order.
// Used by: the server's work thread (the only thread that calls MPI, FUNNELED); never blocks.
// Before it: announcements of the servers. After it: the same decisions in the same order on every server.
//
//   server k -> 0   announce(key)   all its clients have sent it        complete(step)  no more announcements up to step
//                   abandon(key)    it no longer waits
//   server 0 -> k   run(key, n)     all servers have announced it       cancel(key)     one never will, or has abandoned it
//                   agreed(step)    all have completed step             done            all have finished
//   any -> any      post(bytes)     from a plugin to the same plugin on another server
// MPI keeps the order of messages between two servers, so decisions arrive in the order they were made. At the end a barrier makes sure that
// every message was received.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/process.hpp"
#include "core/model/model.hpp"
#include "mpi/mpi_call.hpp"
#include "server/library/serving.hpp"

namespace damaris::mpi {

// The communicators between the servers. Shared, so that a start that fails on some ranks can free them at the same point on all.
struct Channels {
  // Collective over `servers`.
  explicit Channels(MPI_Comm servers) : messages(Communicator::duplicate(servers)), plugins(Communicator::duplicate(servers)) {}
  Communicator messages;  // of the coordinators
  Communicator plugins;   // for collective work of plugins
};

class MpiCoordinator : public server::Coordinator {
 public:
  // What the model requires from the other servers; if nothing, no message is ever sent.
  struct Needs {
    bool globals = false;  // a total order of global events
    bool posts = false;    // plugins that exchange messages with those of other servers
    // In place no process waits for another, unless there are global events.
    static Needs of(const model::Model& model, bool in_place) {
      return {model::needs_mpi(model), !in_place && !model.plugins.empty()};
    }
  };
  // `in_place`: with global events every end of step waits for all processes.
  MpiCoordinator(std::shared_ptr<Channels> channels, Needs needs, bool in_place);
  ~MpiCoordinator() override;

  int index() const override { return index_; }
  int count() const override { return count_; }
  const void* communicator() const override { return channels_->plugins.address(); }
  void announce(const server::InstanceKey& key) override;
  void complete(std::int64_t step) override;
  bool agreed(std::int64_t step) const override { return !needs_.globals || !in_place_ || step <= agreed_; }
  std::optional<server::Decision> poll() override;
  bool leave() override;
  void abandon(const server::InstanceKey& key) override;
  bool post(int to, std::uint32_t plugin, std::string bytes) override;
  std::optional<server::Post> next_post() override;

 private:
  enum Kind : std::int32_t { kAnnounce = 1, kComplete, kAbandon, kRun, kCancel, kAgreed, kDone, kPost };
  struct Message {
    std::int32_t kind = 0;
    std::uint32_t event = 0, instance = 0, plugin = 0;
    std::int64_t step = 0;
    std::uint64_t order = 0;
  };
  // A pending send or receive: the bytes of a Message and, for a post, its payload.
  struct PendingTransfer {
    std::string bytes;
    int from = 0;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  static Message make_message(Kind kind, const server::InstanceKey& key);
  void send(int to, const Message& message, const std::string& post = {});
  void send_all(const Message& message);
  void receive_all();
  void post_receives();
  void exchange();
  void handle(int from, const Message& message, std::string post);
  void on_announce(int from, const server::InstanceKey& key);
  void on_abandon(const server::InstanceKey& key);
  void on_complete(int from, std::int64_t step);
  bool can_never_run(const server::InstanceKey& key, const std::set<int>& announced) const;
  void prune_sent();

  MPI_Comm messages() const { return channels_->messages.get(); }

  CreatorProcess creator_;
  std::shared_ptr<Channels> channels_;
  bool communicates() const { return needs_.globals || needs_.posts; }

  Needs needs_;
  bool in_place_;
  int index_ = 0, count_ = 1;
  std::deque<PendingTransfer> sending_,
      arriving_;  // buffers must stay in place until their requests complete; a deque never moves them
  std::deque<server::Decision> decisions_;
  std::deque<server::Post> posts_;
  std::int64_t completed_ = -1, agreed_ = -1;
  bool all_done_ = false;
  MPI_Request leaving_ = MPI_REQUEST_NULL;  // the barrier, which this server has entered
  bool has_left_ = false;
  // Server 0 only:
  std::map<server::InstanceKey, std::set<int>> announced_;
  std::vector<std::int64_t> completed_by_;
  std::uint64_t next_order_ = 0;
};

}  // namespace damaris::mpi
