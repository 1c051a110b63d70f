// Agreement between the servers of a run: one total order of global events, and a common end.
// Used by: the server's work thread only; never blocks. src/mpi/coordinator.hpp implements it for several servers.
// Before it: all clients of this server have sent an event. After it: the event's global actions.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <utility>

namespace damaris::server {

// The `instance`-th signal of event `event` in step `step`.
struct InstanceKey {
  std::uint32_t event = 0;
  std::int64_t step = 0;
  std::uint32_t instance = 0;
  friend bool operator<(const InstanceKey& a, const InstanceKey& b) {
    return std::tie(a.step, a.event, a.instance) < std::tie(b.step, b.event, b.instance);
  }
  friend bool operator==(const InstanceKey& a, const InstanceKey& b) { return !(a < b) && !(b < a); }
};

struct Decision {
  InstanceKey key;
  bool run = true;          // false: cancelled, because some server will never announce it
  std::uint64_t order = 0;  // position in the total order, from 0; the same on every server
};

// A message from a plugin on server `from` to the same plugin on this server.
struct Post {
  int from = 0;
  std::uint32_t plugin = 0;  // index in the model
  std::string bytes;
};

class Coordinator {
 public:
  virtual ~Coordinator() = default;
  virtual int index() const = 0;
  virtual int count() const = 0;
  // For plugins: MPI_Comm* over the servers, or nullptr.
  virtual const void* communicator() const { return nullptr; }
  // All clients of this server have sent `key`.
  virtual void announce(const InstanceKey& key) = 0;
  // This server makes no more announcements for steps <= `step`.
  virtual void complete(std::int64_t step) = 0;
  // True if no process has to wait for another server at the end of `step`. False only in place, under MPI, with global events.
  virtual bool agreed(std::int64_t) const { return true; }
  // The next decision in the total order, if any.
  virtual std::optional<Decision> poll() = 0;
  // This server has nothing more to do. Returns true once no server has; call it repeatedly until then.
  virtual bool leave() = 0;
  // This server no longer waits for `key`: unless it is already decided, no server shall run it.
  virtual void abandon(const InstanceKey& key) = 0;
  // Sends `bytes` to plugin `plugin` on server `to`; posts between two servers keep their order. Never blocks. Returns false if there is no
  // way to reach that server, or it may have left.
  virtual bool post(int to, std::uint32_t plugin, std::string bytes) = 0;
  // The next post for this server, if one has arrived.
  virtual std::optional<Post> next_post() = 0;
};

// A single server: every announcement is decided at once.
class SingleCoordinator : public Coordinator {
 public:
  explicit SingleCoordinator(int index = 0, int count = 1) : index_(index), count_(count) {}
  int index() const override { return index_; }
  int count() const override { return count_; }
  void announce(const InstanceKey& key) override { ready_.push({key, true, next_++}); }
  void complete(std::int64_t) override {}
  std::optional<Decision> poll() override {
    if (ready_.empty()) return std::nullopt;
    const Decision decision = ready_.front();
    ready_.pop();
    return decision;
  }
  bool leave() override { return true; }
  void abandon(const InstanceKey&) override {}
  bool post(int to, std::uint32_t plugin, std::string bytes) override {
    if (to != index_) return false;
    posts_.push({index_, plugin, std::move(bytes)});
    return true;
  }
  std::optional<Post> next_post() override {
    if (posts_.empty()) return std::nullopt;
    Post post = std::move(posts_.front());
    posts_.pop();
    return post;
  }

 private:
  int index_, count_;
  std::uint64_t next_ = 0;
  std::queue<Decision> ready_;
  std::queue<Post> posts_;
};

}  // namespace damaris::server
