// Decides when the servers of a group write a step together: as soon as each has the step, or has passed it without data; never if one of
// them exceeds the time-out.
// Used by: the hdf5 plugin, on the server's work thread; only messages, none of it blocks.
// Before it: a complete step on this server. After it: shared_files.hpp, on all servers of the group at the same time.
//
//   server -> leader   ready k    it has data of step k, and has finished all earlier steps
//                    passed k   it has no data of the steps up to k
//                    again k    it has data of step k, which all have failed to write, and is to try again
// leader -> server   go k       all write step k now, including those without data of it
//                    late:S k   servers S exceeded the time-out: all abandon step k
#pragma once

#include <damaris/plugin.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include "../schedule/write_schedule.hpp"
#include "../settings/settings.hpp"

namespace damaris::hdf5 {

// Servers first .. first+size-1; the first is the leader.
struct Group {
  int first = 0, size = 1;
  int leader() const { return first; }
};

// The group of this server; only itself if each server writes its own files.
Group group_of(const dc_host_t& host, const Settings& settings);

// The part of a file name between the stem and ".i<step>.h5": ".node7.s3", ".g1" or "".
std::string name_part(const dc_host_t& host, const Settings& settings);

class Agreement : public WriteSchedule {
 public:
  // Called while a message is handled, when the group writes a step of which this server has no data, or which it has abandoned for the
  // reason `why_not`.
  using Attend = std::function<void(std::int64_t step, const std::string& why_not)>;
  Agreement(const dc_host_t& host, const Group& group, std::int64_t timeout_ms, Attend attend);

  bool may_write(const dc_step_t& step, Instant now) override;
  void begin(std::int64_t step) override;
  void written(double) override {}
  void again(std::int64_t step) override;
  void passed(std::int64_t step) override;
  void receive(int from, const std::string& message) override;

 private:
  void send(int server, const std::string& what, std::int64_t step) const;
  void go(std::int64_t step);
  void start_ready_steps();
  std::string late_servers() const;
  void check_timeout(Instant now);

  const dc_host_t& host_;
  Group group_;
  std::chrono::milliseconds timeout_;
  Attend attend_;
  std::int64_t ready_, started_;                   // the last "ready" this server sent, and the last "go" it received
  bool is_repeated_ = false;                       // its next "ready" is an "again"
  Instant ready_since_ = {};                       // when it sent that "ready" or "again"
  std::map<std::int64_t, std::string> abandoned_;  // steps that it will not write any more, with the reason
  // Of the leader:
  std::map<int, std::int64_t> reached_;                      // by server
  std::set<std::int64_t> wanted_;                            // steps of which a server has data
  std::map<std::int64_t, std::set<int>> have_data_, again_;  // by step: the servers with data of it; those that are to try again
};

}  // namespace damaris::hdf5
