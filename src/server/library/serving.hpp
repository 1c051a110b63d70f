// What libdamaris and libdamaris_mpi ask of libdamaris_server, which a process loads when it reads a configuration or serves: a process that finds its
// server attaches without it.
// Used by: the start of a session, once; start.cpp implements it.
// Before it: the text of an XML file. After it: a model, and a server in this process.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/model/model.hpp"
#include "core/shm/region.hpp"
#include "server/library/coordinator.hpp"

namespace damaris::server {

struct Configuration {
  std::string xml;
  std::shared_ptr<const model::Model> model;
};

enum class ServerMode {
  in_place,  // its one client is this process; the region has no name
  split,     // a rank of the simulation's own MPI job
  detached,  // a process of its own, which clients look for
};

struct StartOptions {
  ServerMode mode = ServerMode::in_place;
  int clients = 1;                           // to come
  std::vector<std::int32_t> sources;         // their ids, as far as they are known
  int node = 0;                              // split: in the name of the region
  std::uint64_t run = 0;                     // what the processes of the run agreed on; 0: they did not
  std::unique_ptr<Coordinator> coordinator;  // nullptr: none with other servers, of which this one knows nothing
  int index = 0;                             // of this server then
  bool holds_lock = false;                   // the process that has started this one holds the start lock, and waits
  const std::atomic<bool>* stop = nullptr;   // set by a signal handler: ends waits for other runs
};

// A server in this process.
class Serving {
 public:
  virtual ~Serving() = default;
  virtual const std::shared_ptr<shm::Region>& region() const = 0;
  // One pass over everything there is to do. Returns whether anything was done. Never sleeps.
  virtual bool poll() = 0;
  // True while a later poll() may have something to do without a new message: mail, a step, a global instance.
  virtual bool busy() = 0;
  // True when all clients are over, everything is processed and the other servers have come as far.
  virtual bool finished() = 0;
  // Serves until finished. `stop` set (by a signal handler): stores what was published, ends every client's steps, leaves. Returns the first
  // failure of the run. An exception that leaves the loop ends the server as a kill would: the region and the spill file stay for a recovery.
  virtual Status run(const std::atomic<bool>* stop) = 0;
  // Ends plugins and closes the region; the destructor does, too. What is left in the region of a server that did not come to its end stays.
  virtual Status close() = 0;
  // What the plugins reported at their end.
  virtual const Status& end_failure() const noexcept = 0;
};

struct Library {
  // Throws Error(DC_E_CONFIG) with every error of the text; `path` is for messages.
  std::shared_ptr<const model::Model> (*parse)(const std::string& xml, const std::string& path);
  // Makes the region and loads the plugins. Throws what keeps a server from starting: another run on its output (DC_E_REGION_IN_USE), data of
  // a dead one (DC_E_STALE_REGION), no memory, a plugin that is missing or refuses.
  std::unique_ptr<Serving> (*start)(const Configuration& configuration, StartOptions options);
};

}  // namespace damaris::server

// nullptr when it is not of `version`.
extern "C" const damaris::server::Library* damaris_server_library(const char* version);
