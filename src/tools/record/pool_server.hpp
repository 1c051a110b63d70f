// Empties a pool of chunks into the log of a recording, until no process of the node is left.
// Used by: the server process that `damaris record --server` starts, one for each node and run.
// Before it: chunks that recorders have filled, or have left when they died. After it: DIR/raw/trace.<host>.s0.calls.*, which unify reads.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "logs/writer.hpp"
#include "tools/record/process_watch.hpp"
#include "trace/pool.hpp"

namespace damaris::record {

class PoolServer {
 public:
  // Throws Error, with nothing changed, if the log cannot be kept in the folder `raw`.
  PoolServer(const trace::Pool& pool, const std::string& raw, const std::string& host, int files);
  // Returns when all processes are dead. False: chunks are left in the pool, as the file system has not taken them.
  bool run();

 private:
  bool empty(bool looks);
  bool store(const std::vector<std::uint32_t>& chunks);
  std::set<std::uint64_t> living();
  void forget_dead(const std::set<std::uint64_t>& left);
  bool is_needed() const;
  void finish();

  const trace::Pool pool_;
  logs::Writer log_;
  std::vector<std::uint64_t> ends_;  // of the files
  struct Known {
    std::uint64_t stream;
    ProcessWatch watch;
  };
  std::map<std::size_t, Known> known_;  // by entry
};

}  // namespace damaris::record
