// The interface of libdamaris_server for libdamaris and libdamaris_mpi. A process loads the library to parse a configuration or to serve; a
// client that finds its server attaches without it.
// Used by: the start of a session, once; start.cpp implements it.
// Before it: the text of an XML file. After it: a model, and a server in this process.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/model/model.hpp"
#include "core/shm/region.hpp"

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

// Agreement between the servers of a run: one total order of global events, and a common end. Used by the server's work thread only; never
// blocks. src/mpi/coordinator.hpp implements it for several servers.
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

struct Configuration {
  std::string xml;
  std::shared_ptr<const model::Model> model;
};

enum class ServerMode {
  in_place,  // its only client is this process; the region has no name
  split,     // a rank of the simulation's MPI job
  detached,  // a process of its own, which clients look up
};

struct StartOptions {
  ServerMode mode = ServerMode::in_place;
  int clients = 1;                           // number expected
  std::vector<std::int32_t> sources;         // their ids, as far as known
  int node = 0;                              // split: in the name of the region
  std::uint64_t run = 0;                     // agreed on by the processes of the run; 0: none
  std::unique_ptr<Coordinator> coordinator;  // nullptr: no coordination with other servers
  int index = 0;                             // of this server if there is no coordinator
  bool holds_lock = false;                   // the parent process holds the start lock and waits
  const std::atomic<bool>* stop = nullptr;   // set by a signal handler: aborts waits for other runs
};

// A server in this process.
class Serving {
 public:
  virtual ~Serving() = default;
  virtual const std::shared_ptr<shm::Region>& region() const = 0;
  // Makes one round over all pending work. Returns whether anything was done. Never sleeps. An exception ends the server
  // by a fault: its clients get DC_E_SERVER_LOST from then on.
  virtual bool poll() = 0;
  // True while a later poll() may have work even without a new message: a read, a step, a global instance.
  virtual bool busy() = 0;
  // True while the storage retries a step that the file system refuses, for which no client has to wait as long as there is room.
  virtual bool is_blocked() = 0;
  // True once all clients have left and everything is processed, also on the other servers.
  virtual bool finished() = 0;
  // Serves until finished. Once `stop` is set (by a signal handler), stores published blocks, ends every client's steps and returns.
  // Returns the first failure of the run. An exception that escapes the loop ends the server like a kill: region and spill file are left
  // to recovery.
  virtual Status run(const std::atomic<bool>* stop) = 0;
  // Finalizes plugins and closes the region; also called by the destructor. Unstored data of a server that did not finish stay in the
  // region.
  virtual Status close() = 0;
  // What the plugins reported in finalize.
  virtual const Status& end_failure() const noexcept = 0;
};

struct Library {
  // Throws Error(DC_E_CONFIG) with all errors of the text; `path` is for messages.
  std::shared_ptr<const model::Model> (*parse)(const std::string& xml, const std::string& path);
  // Creates the region and loads the plugins. Throws Error if another run uses the output (DC_E_REGION_IN_USE), a dead server left data
  // (DC_E_STALE_REGION), memory is short, or a plugin is missing or fails.
  std::unique_ptr<Serving> (*start)(const Configuration& configuration, StartOptions options);
};

}  // namespace damaris::server

// Returns nullptr if the library is not of `version`.
extern "C" const damaris::server::Library* damaris_server_library(const char* version);
