// The names of regions, the search for this user's regions, and the removal or recovery of those that dead servers left.
// Used by: servers at start-up (remove, recover or refuse the regions of dead jobs), clients of a detached server (find it),
// damaris-recover, damaris-verify; one thread.
// Before it: the model, and /dev/shm. After it: region.hpp opens what was found; recovery.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/process.hpp"
#include "core/model/model.hpp"
#include "core/shm/open_steps.hpp"

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
// Resolves relative paths against this process's working directory.
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
std::uint64_t make_nonce();

struct FoundRegion {
  std::string name;
  ProcessId server;
  bool alive = false;    // its server is alive and has not closed it
  bool ready = false;    // clients may attach
  bool leaving = false;  // alive, but accepts no more clients
  bool detached = false;
  std::string simulation;
  std::uint64_t config_digest = 0, config_place = 0;
  std::size_t unreleased_blocks = 0;
  std::optional<StepRange> lacks_writes;  // open steps with omitted writes; counts as data, because only a recovery records it
  int servers = 1;                        // of its run
  std::string spill_file;                 // "": none
  bool holds_data() const { return unreleased_blocks > 0 || lacks_writes; }
};

// "writes of step 7 were left out for want of room".
std::string omission_text(const StepRange& steps);

// A region that no process uses any more and that cannot be read; it may hold data.
struct UnreadRegion {
  std::string name, why;  // why: a message with the region's name and the remedy
};

// Returns this user's readable regions with that prefix. Skips unreadable and foreign ones without touching them; `unread` receives those
// that may hold data of a dead server.
// Throws Error(DC_E_SHM) if /dev/shm cannot be listed.
std::vector<FoundRegion> find_regions(const std::string& prefix, std::vector<UnreadRegion>* unread = nullptr);
// The same for several runs, in one pass over /dev/shm. `runs` are prefixes; those that are not of a run (is_run_prefix) are ignored.
std::vector<FoundRegion> find_regions_of_runs(const std::set<std::string>& runs, std::vector<UnreadRegion>* unread = nullptr);

// Waits until `is_blocking` holds for no living region with that prefix: one that is leaving may still store the last data of the previous
// run, and has up to `timeout_ms` for that. Returns a region that still blocks, or std::nullopt; returns early once `stop` is set.
std::optional<FoundRegion> wait_until_clear(const std::string& prefix, std::int64_t timeout_ms,
                                            const std::function<bool(const FoundRegion&)>& is_blocking,
                                            const std::atomic<bool>* stop = nullptr);

// Stores the data of a region and removes it. Throws Error on failure.
using Recover = std::function<void(const std::string& region)>;

// Removes the regions that dead servers of that run left, in any of this user's jobs, because a resubmitted simulation is another job.
// - Regions without data, and unfinished ones: always; with `policy` recover, those of a run of several servers only after `recover`, as
//   their storage may still have to record what it has stored.
// - Others, and damaged regions or regions of another version that no process has open: according to `policy`.
// Throws Error(DC_E_STALE_REGION) with the region and the remedy, if `policy` is refuse or there is no `recover`; what `recover` throws;
// Error(DC_E_SHM) if /dev/shm cannot be listed, or a region cannot be opened for lack of descriptors or memory.
void clear_dead_regions(const RunKey& key, model::StalePolicy policy, const Recover& recover = {});

// Logs the regions of dead servers of the same simulation and job with another output location; they do not block a start.
void warn_of_others(const RunKey& key);

}  // namespace damaris::shm
