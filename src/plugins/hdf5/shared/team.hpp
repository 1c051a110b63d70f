// Coordinates the servers of a group: if an operation fails on one of them, all fail, and none continues alone.
// Used by: the hdf5 plugin, on the server's work thread; the only part of the plugin that calls MPI.
// Before it: agreement.hpp, which brings all servers here. After it: shared_files.hpp.
#pragma once

#include <damaris/plugin.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../attributes/values.hpp"
#include "../file/handle.hpp"
#include "agreement.hpp"

namespace damaris::hdf5 {

// Throws damaris::Error(DC_E_CONFIG) if servers cannot write together: an HDF5 without MPI, no MPI, or another HDF5 in the program. Makes
// no call of HDF5.
void check_can_write_together(const dc_host_t& host, const std::string& files);

class Team {
 public:
  // `hints`: for MPI-IO.
  Team(const dc_host_t& host, const Group& group, std::int64_t timeout_ms, std::vector<Hint> hints = {});
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  bool leads() const { return host_.server_index == group_.leader(); }
  int member() const { return host_.server_index - group_.first; }
  int size() const { return group_.size; }

  // All functions below but those of messages are collective over the group. They throw Failure if a server is late, and always from then
  // on, because the state of the others is unknown. The limit is the timeout for gather(), and ten times as much between exchanges and
  // messages. Calls within HDF5 have no limit.
  // Whether no server has been late.
  bool is_whole() const { return !broken_; }
  // Waits for the others. The first call creates the communicator, as all servers are present then.
  void gather();
  // Call directly before a collective call that has no limit, such as H5Fopen: a server that has given up waiting in the exchange before it
  // is missed here.
  void commit();
  // Runs `task` on every member and returns the results of all. If any throws, throws Failure on all members, with the sentence of the first
  // one that failed.
  std::vector<std::string> run_on_all(const std::function<std::string()>& task);
  // The same for a task that only the leader runs.
  std::string run_on_leader(const std::function<std::string()>& task);

  // Messages between two members, in the order in which they were sent. All that were sent must be received before the next collective call,
  // by members that know how many there are.
  using Message = std::vector<std::byte>;
  using Receive = std::function<void(int from, const Message& message)>;
  // Starts to send; waits, and passes arriving messages to `receive`, while more than kUnderwayBytes of others are on their way. `receive`
  // must not send.
  void send(int to, Message message, const Receive& receive);
  static constexpr std::size_t kUnderwayBytes = std::size_t{16} << 20;
  // Passes to `receive` what has arrived.
  void serve(const Receive& receive);
  // The same until `done` returns true.
  void serve_until(const std::function<bool()>& done, const Receive& receive);
  // The same until the messages of this member have arrived.
  void serve_until_sent(const Receive& receive);

  // Access properties of a file that the group opens collectively, with the hints.
  Properties file_access() const;
  // Of the hints those that MPI does not use for the open file, as "name=value": it does not know them, or has another value.
  std::vector<std::string> unused_hints(hid_t file) const;
  // Transfer properties of a collective write.
  static Properties collective_write();

 private:
  struct Channel;
  class Deadline;
  void meet(std::int64_t timeout_ms);
  void barrier(std::int64_t timeout_ms);
  bool serve_once(const Receive& receive);
  [[noreturn]] void fail_late(std::int64_t timeout_ms);
  std::vector<std::string> exchange(const std::string& mine);
  template <class Begin>
  void bounded(std::int64_t timeout_ms, Begin&& begin);
  template <class Request>
  void wait_for(Request& request, const Deadline& until);
  void require_whole() const;

  const dc_host_t& host_;
  Group group_;
  std::int64_t timeout_ms_;
  std::vector<Hint> hints_;
  std::unique_ptr<Channel> channel_;
  bool broken_ = false;
};

}  // namespace damaris::hdf5
