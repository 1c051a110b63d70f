// The requests of clients for data of an earlier run, served in the order in which they came.
// Used by: the server's dispatch thread only, which serves one between two drains of the lanes; the client waits meanwhile.
// Before it: a checked event read or last_step. After it: the storage plugin fills the block; its release is the answer.
#pragma once

#include <deque>

#include "server/intake.hpp"
#include "server/ledger.hpp"
#include "server/plugin_host.hpp"

namespace damaris::server {

class Reads {
 public:
  Reads(shm::Region& region, Ledger& ledger, PluginHost& host) : region_(region), ledger_(ledger), host_(host) {}

  // `asked` is sound, and its block not in hand.
  void take(const ReadRequest& asked);
  bool empty() const noexcept { return waiting_.empty(); }
  // Returns whether there was one to serve. Its block goes back in any case.
  bool serve_next();

 private:
  Status fill(const ReadRequest& asked);

  shm::Region& region_;
  Ledger& ledger_;
  PluginHost& host_;
  std::deque<ReadRequest> waiting_;
};

}  // namespace damaris::server
