// The MPI side of a team: its communicator and what is under way on it.
// Used by: team.cpp and team_messages.cpp, on the server's work thread.
// Before it: the communicator of all servers. After it: MPI.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "team.hpp"

namespace damaris::hdf5 {

constexpr std::int64_t kWorkTimes = 10;  // times the timeout: the limit between two exchanges or messages

// Throws Failure for a call of MPI that failed.
void check_mpi(int result, const char* doing);

// The end of a wait.
class Team::Deadline {
 public:
  explicit Deadline(std::int64_t timeout_ms)
      : timeout_ms_(timeout_ms), end_(Clock::now() + std::chrono::milliseconds(timeout_ms)) {}
  bool is_over() const { return Clock::now() > end_; }
  std::int64_t timeout_ms() const { return timeout_ms_; }

 private:
  using Clock = std::chrono::steady_clock;
  std::int64_t timeout_ms_;
  Clock::time_point end_;
};

// Owns the pending communication: after a time-out it is never freed, as MPI may still write to it.
struct Team::Channel {
  // A message on its way.
  struct Underway {
    Message bytes;
    MPI_Request request = MPI_REQUEST_NULL;
    int from = 0;
  };

  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  int size = 0;
  std::vector<int> sizes, places;
  std::string mine, all;
  std::vector<MPI_Request> awaited;  // of a meeting
  std::deque<Underway> sending;      // the buffers stay in place
  std::size_t sending_bytes = 0;
  std::optional<Underway> arriving;

  ~Channel() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0 && comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  }
  void connect(const void* servers, const Group& group);
  void forget_meeting();
};

}  // namespace damaris::hdf5
