// When the servers of a group write a step together: as soon as each has it, or has passed it without data; not at all when one of
// them lets the others wait too long.
// Used by: the hdf5 plugin, on the server's dispatch thread; only messages, none of it blocks.
// Before it: a step is complete on this server. After it: shared_files.hpp, on all servers of the group at the same time.
//
//   server -> leader   ready k    it has data of step k, and is done with all before
//                      passed k   it will bring nothing of the steps up to k
//   leader -> server   go k       all write k now, also those that have nothing of it
//                      late:S k   servers S let the others wait too long: they give k up
#pragma once

#include <damaris/plugin.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include "../schedule/write_schedule.hpp"
#include "../settings/settings.hpp"

namespace damaris::hdf5 {

// Servers first .. first+size-1; the first leads.
struct Group {
  int first = 0, size = 1;
  int leader() const { return first; }
};

// Of one server alone where each writes its own files.
Group group_of(const dc_host_t& host, const Settings& settings);

// What stands between the stem and ".i<step>.h5": ".node7.s3", ".g1" or "".
std::string name_part(const dc_host_t& host, const Settings& settings);

class Agreement : public WriteSchedule {
 public:
  // `attend` is called in a message: the group writes a step of which this server has nothing, or which it has given up for the
  // reason `why_not`.
  using Attend = std::function<void(std::int64_t step, const std::string& why_not)>;
  Agreement(const dc_host_t& host, const Group& group, std::int64_t timeout_ms, Attend attend);

  bool may_write(const dc_step_t& step, Instant now) override;
  void begin(std::int64_t step) override;
  void written(double) override {}
  void passed(std::int64_t step) override;
  void take(int from, const std::string& message) override;

 private:
  void tell(int server, const std::string& what, std::int64_t step) const;
  void go(std::int64_t step);
  void let_go();
  std::string late_servers() const;
  void look_at_clock(Instant now);

  const dc_host_t& host_;
  Group group_;
  std::chrono::milliseconds timeout_;
  Attend attend_;
  std::int64_t mine_, going_;                     // the step this server has said "ready" of, and the last "go" it got
  Instant asked_ = {};                            // when it said so
  std::map<std::int64_t, std::string> given_up_;  // what it will not write any more, and why
  // Of the leader:
  std::map<int, std::int64_t> reached_;  // by server
  std::set<std::int64_t> wanted_;        // steps of which somebody has data
};

}  // namespace damaris::hdf5
