// When the servers of a group write an iteration together: as soon as each has it, or has passed it without data.
// Used by: the hdf5 plugin, on the server's dispatch thread; only messages, none of it blocks.
// Before it: an iteration is complete on this server. After it: shared_files.hpp, on all servers of the group at the same time.
//
//   server -> leader   ready k    it has data of iteration k, and is done with all before
//                      passed k   it will bring nothing of the iterations up to k
//   leader -> server   go k       all write k now, also who has nothing of it
#pragma once

#include <functional>
#include <map>
#include <set>

#include "../turns.hpp"
#include "group.hpp"

namespace damaris::hdf5 {

class Agreement : public Schedule {
 public:
  // `attend` is called in a message: the group writes an iteration of which this server has nothing.
  using Attend = std::function<void(std::int64_t step)>;
  Agreement(const dc_host_t& host, const Group& group, Attend attend);

  bool may_write(const dc_iteration_t& iteration, Instant now) override;
  void written(double) override {}
  void passed(std::int64_t step) override;
  void take(int from, const std::string& message) override;

 private:
  void tell(int server, const std::string& what, std::int64_t step) const;
  void let_go();

  const dc_host_t& host_;
  Group group_;
  Attend attend_;
  std::int64_t mine_, going_;  // the iteration this server has said "ready" of, and the last it was told to write
  // Of the leader:
  std::map<int, std::int64_t> reached_;  // by server
  std::set<std::int64_t> wanted_;        // iterations of which somebody has data
};

}  // namespace damaris::hdf5
