// Which thread of a client has which lane: a thread claims one with its first call and gives it back when it ends.
// Used by: every client thread; a thread may end after the client, or in a forked child, so nothing here locks.
// Before it: a call of the simulation. After it: the Writer of that lane, which then is this thread's alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace damaris::client {

class LaneClaims {
 public:
  explicit LaneClaims(std::uint32_t lanes);
  // The calling thread's lane, claimed if it has none yet. Returns nothing while other threads have all of them. What the thread before
  // did with the lane is seen: its end releases, the claim acquires.
  std::optional<std::uint32_t> claim() {
    if (cached.claims != id_ && !claim_one()) return std::nullopt;
    return cached.lane;
  }
  // Without claiming one.
  std::optional<std::uint32_t> current() const;

 private:
  using Flags = std::vector<std::atomic<bool>>;  // true for a lane that a thread has
  // The calling thread's lane, of the last client it called.
  struct Cached {
    std::uint64_t claims;  // 0: none
    std::uint32_t lane;
  };
  static inline thread_local Cached cached = {0, 0};
  friend class ThreadLanes;

  bool claim_one();

  std::shared_ptr<Flags> flags_;  // lives on with a thread that has a lane and outlives the client
  const std::uint64_t id_;        // tells the clients of a process apart; never used twice
};

}  // namespace damaris::client
