// The names of a simulation's regions in /dev/shm: how they are made, read and searched; and its start lock, with which only one process at
// a time searches this node for living regions of the simulation and creates a new one.
// Used by: a client that starts a server, damaris-server, the servers of an MPI job, damaris-recover, each at start-up, on one thread.
// Before it: the model, and /dev/shm. After it: dead_regions.hpp inspects what was found, region.hpp opens it or creates one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/process.hpp"
#include "core/model/model.hpp"

namespace damaris::shm {

// The job this process belongs to: DAMARIS_JOB, else the batch system's job id, else "local". Only letters, digits, '-' and '_'.
std::string job_name();
// The job in a region's name, to which data recovered from it belong; this process's own job if the name contains none.
std::string job_of_region(const std::string& region);

// "/damaris.<uid>.": the prefix of all regions of this user.
std::string user_prefix();
// Identifies the regions of one simulation with one output location. Names are truncated and sanitized, so a digest of the exact text is
// appended.
struct RunKey {
  RunKey(std::string name, std::string where = "") : simulation(std::move(name)), place(std::move(where)) {}
  RunKey(const char* name) : simulation(name) {}
  std::string simulation;
  std::string place;  // absolute basenames of the storages, or the configuration's path if there are none
};
// Resolves relative paths against this process's working directory, and links on the disk, however long that takes.
RunKey run_key(const model::Model& model);
// "/damaris.<uid>.<job>.<simulation>.": the prefix of all regions of a job and simulation. The name of another simulation may be sanitized
// to the same.
std::string simulation_prefix(const std::string& simulation);
// "/damaris.<uid>.<job>.<simulation>.<digest>.": the prefix of this key's regions only.
std::string region_prefix(const RunKey& key);
// The prefix of all regions of the same run: the name without node and server.
std::string run_of_region(const std::string& region);
// The prefix of the regions of all simulations of this user's job.
std::string job_prefix();
// The prefix of all regions of one run; `nonce` distinguishes runs.
std::string run_prefix(const RunKey& key, std::uint64_t nonce);
// Whether `text` is a complete prefix of this kind, with this user's id. It comes from a manifest, which another user may have written.
bool is_run_prefix(const std::string& text);
// The full name.
std::string region_name(const RunKey& key, std::uint64_t nonce, int node, int server);
// Whether `name` is a full name of this kind, with this user's id. That of a start lock or of a spill file is not.
bool is_region_name(const std::string& name);
std::uint64_t make_nonce();

// Calls `take` with the names in /dev/shm, each with its slash, that begin with user_prefix(): of regular files only, where the file
// system returns. It reads the folder and nothing else, because other users may put any number of files there.
// Throws Error(DC_E_SHM) if /dev/shm cannot be listed; without /dev/shm there are no names.
void for_each_name_of_user(const std::function<void(const std::string& name)>& take);
// The names of regions that `is_wanted`, sorted. Looks only at those, and leaves out what is not a regular file of this user.
// Throws as for_each_name_of_user.
std::vector<std::string> region_names_where(const std::function<bool(const std::string& name)>& is_wanted);

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
