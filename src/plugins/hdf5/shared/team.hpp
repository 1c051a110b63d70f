// The servers of a group as one: when one of them cannot do something, all of them learn of it, and none goes on alone.
// Used by: the hdf5 plugin, on the server's dispatch thread; the only place of the plugin that calls MPI.
// Before it: agreement.hpp has brought all of them here. After it: shared_files.hpp writes with them.
#pragma once

#include <damaris/plugin.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../file/handle.hpp"
#include "agreement.hpp"

namespace damaris::hdf5 {

// Throws damaris::Error(DC_E_CONFIG) where servers cannot write together: an HDF5 without MPI, no MPI, another HDF5 in the program,
// of which it calls nothing.
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

  // All below is collective over the group.

  // All below throws Failure when a server does not come in time, and from then on always: the state of the others is unknown then. The
  // time is the timeout to come together, ten times as much for what the others do in between. In HDF5 itself nobody can be bounded.

  // Waits for the others. Makes the communicator at the first call, as all servers are there then.
  void gather();
  // Runs `task` on every member and returns what all of them returned. Throws Failure on all of them, with the sentence of the first
  // one, when one of them throws.
  std::vector<std::string> together(const std::function<std::string()>& task);
  // The same for a task of the leader alone.
  std::string by_leader(const std::function<std::string()>& task);

  // Properties of a file that the group opens together.
  Properties file_access() const;
  // Of one write in which all take part, with or without data.
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
