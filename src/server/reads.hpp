// The clients' requests for data of an earlier run, served in the order of arrival.
// Used by: the server's dispatch thread only, which serves one between two drains of the lanes while the client waits.
// Before it: a validated read or last_step message. After it: the storage plugin fills the block, which is then marked as answered.
#pragma once

#include <deque>

#include "server/intake.hpp"
#include "server/ledger.hpp"
#include "server/plugin_host.hpp"

namespace damaris::server {

class Reads {
 public:
  Reads(shm::Region& region, Ledger& ledger, PluginHost& host) : region_(region), ledger_(ledger), host_(host) {}

  // Precondition: `asked` is valid, and its block is not held.
  void take(const ReadRequest& asked);
  bool empty() const noexcept { return waiting_.empty(); }
  // Serves the oldest request, if any, and answers its block in any case. Returns whether there was one.
  bool serve_next();

 private:
  Status fill(const ReadRequest& asked);

  shm::Region& region_;
  Ledger& ledger_;
  PluginHost& host_;
  std::deque<ReadRequest> waiting_;
};

}  // namespace damaris::server
