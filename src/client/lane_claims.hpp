// Assigns the lanes of a client to its threads: a thread claims a lane with its first call and releases it when it ends.
// Used by: every client thread; a thread may end after the client, or in a forked child, so nothing here locks.
// Before it: a call of the simulation. After it: the Writer of that lane, which then belongs to this thread alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace damaris::client {

// A lane's flag, true while a thread has it.
inline bool try_take_lane(std::atomic<bool>& flag) noexcept { return !flag.exchange(true, std::memory_order_acquire); }
inline void give_back_lane(std::atomic<bool>& flag) noexcept { flag.store(false, std::memory_order_release); }

class LaneClaims {
 public:
  explicit LaneClaims(std::uint32_t lanes);
  // The calling thread's lane, claimed if it has none yet. Returns nothing while other threads hold all lanes. The thread's end releases
  // and the claim acquires, so the previous owner's stores to the lane are visible.
  std::optional<std::uint32_t> claim() {
    if (cached.claims != id_ && !claim_one()) return std::nullopt;
    return cached.lane;
  }
  // The calling thread's lane, without claiming one.
  std::optional<std::uint32_t> current() const;

 private:
  using Flags = std::vector<std::atomic<bool>>;  // true: claimed by a thread
  // The calling thread's lane in the client that it called last.
  struct Cached {
    std::uint64_t claims;  // 0: none
    std::uint32_t lane;
  };
  static inline thread_local Cached cached = {0, 0};
  friend class ThreadLanes;

  bool claim_one();

  std::shared_ptr<Flags> flags_;  // shared with threads that hold a lane and may outlive the client
  const std::uint64_t id_;        // unique among all clients of the process, never reused
};

}  // namespace damaris::client
