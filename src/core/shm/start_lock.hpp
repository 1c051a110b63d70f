// The start lock: only one process at a time searches this node for living regions of a simulation and creates a new one.
// Used by: a client that starts a server, damaris-server, the servers of an MPI job, each at start-up only, on one thread; damaris-recover,
// which removes locks without a holder.
// Before it: the compiled model. After it: wait_until_clear, clear_dead_regions, Region::create.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "core/base/creator_process.hpp"
#include "core/base/error.hpp"
#include "core/shm/region_names.hpp"

namespace damaris::shm {

// A locked file of mode 0600 in /dev/shm, which works for all processes of the node regardless of what the file system of the XML supports.
// The holder removes the file; a file left by a killed holder does not block the next one.
class StartLock {
 public:
  // For this user's job and the run of `key`. Does not take the lock yet.
  explicit StartLock(const RunKey& key);
  ~StartLock();
  StartLock(const StartLock&) = delete;
  StartLock& operator=(const StartLock&) = delete;

  // False while another process holds it. Throws Error(DC_E_SHM) if the file cannot be locked for another reason, or is another user's.
  bool try_take();
  // Waits for the lock. Throws Error(DC_E_TIMEOUT) naming the file after `timeout_ms`, or once `stop` is set.
  void take(std::int64_t timeout_ms, const std::atomic<bool>* stop = nullptr);

  // The error of a wait for it that is over; `how_long` goes on "... holds FILE (".
  Error held(const std::string& how_long) const;

  const std::string& name() const noexcept { return name_; }  // of the file, below /dev/shm

 private:
  std::string simulation_, name_;
  int descriptor_ = -1;  // open: held
  CreatorProcess creator_;
};

// Removes the lock files that killed holders of this user left, in any job: they block no start, but would stay forever.
void remove_dead_start_locks();

}  // namespace damaris::shm
