// The servers of a group that write a file together. Agreement decides when they write a step: as soon as each has it, or has passed it
// without data; never if one of them exceeds the time-out. Team runs the operations of that: if one fails on one server, all fail, and none
// continues alone.
// Used by: the hdf5 plugin, on the server's work thread. Of Agreement, which has only messages, nothing blocks; Team is the only part of the
// plugin that calls MPI.
// Before it: a complete step on this server. After it: shared_files.hpp, on all servers of the group at the same time.
#pragma once

#include <damaris/plugin.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../file/handle.hpp"
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

//   server -> leader   ready k    it has data of step k, and has finished all earlier steps
//                    passed k   it has no data of the steps up to k
//                    again k    it has data of step k, which all have failed to write, and is to try again
// leader -> server   go k       all write step k now, including those without data of it
//                    late:S k   servers S exceeded the time-out: all abandon step k
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

// Throws damaris::Error(DC_E_CONFIG) if servers cannot write together: an HDF5 without MPI, no MPI, or another HDF5 in the program. Makes
// no call of HDF5.
void check_can_write_together(const dc_host_t& host, const std::string& files);

class Team {
 public:
  Team(const dc_host_t& host, const Group& group, std::int64_t timeout_ms);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  bool leads() const { return host_.server_index == group_.leader(); }
  int member() const { return host_.server_index - group_.first; }
  int size() const { return group_.size; }

  // All functions below are collective over the group. They throw Failure if a server is late, and always from then on, because the state of
  // the others is unknown. The limit is the timeout for gather(), and ten times as much between exchanges. Calls within HDF5 have no limit.
  // Whether no server has been late.
  bool is_whole() const { return !broken_; }
  // Waits for the others. The first call creates the communicator, as all servers are present then.
  void gather();
  // Runs `task` on every member and returns the results of all. If any throws, throws Failure on all members, with the sentence of the first
  // one that failed.
  std::vector<std::string> run_on_all(const std::function<std::string()>& task);
  // The same for a task that only the leader runs.
  std::string run_on_leader(const std::function<std::string()>& task);

  // Access properties of a file that the group opens collectively.
  Properties file_access() const;
  // Transfer properties of a collective write.
  static Properties collective_write();

 private:
  struct Channel;
  void meet();
  void barrier();
  std::vector<std::string> exchange(const std::string& mine);
  template <class Begin>
  void bounded(std::int64_t timeout_ms, Begin&& begin);

  const dc_host_t& host_;
  Group group_;
  std::int64_t timeout_ms_;
  std::unique_ptr<Channel> channel_;
  bool broken_ = false;
};

}  // namespace damaris::hdf5
