// Regions by name: how the names are made, which regions of this user are alive, and what dead jobs left.
// Used by: servers at start-up (remove, recover or refuse what a dead job left), clients of a detached server (find it), damaris-recover,
// damaris-verify; one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/process.hpp"
#include "core/model/model.hpp"
#include "core/shm/open_steps.hpp"

namespace damaris::shm {

// The job this process belongs to: DAMARIS_JOB, else the batch system's job id, else "local". Only letters, digits, '-' and '_'.
std::string job_name();
// The job in a region's name, to which the data that are recovered from it belong; this process's own where the name has none.
std::string job_of_region(const std::string& region);

// "/damaris.<uid>.": the prefix of all regions of this user.
std::string user_prefix();
// Identifies the regions of one simulation that stores in one place. Names are truncated and made safe, so a digest of the exact text is
// appended.
struct RunKey {
  RunKey(std::string name, std::string where = "") : simulation(std::move(name)), place(std::move(where)) {}
  RunKey(const char* name) : simulation(name) {}
  std::string simulation;
  std::string place;  // absolute basenames of the storages, or the configuration where there are none
};
// As seen from this process's working directory.
RunKey run_key(const model::Model& model);
// "/damaris.<uid>.<job>.<simulation>.": the prefix of all regions of a user's job and simulation, and perhaps of another simulation's.
std::string simulation_prefix(const std::string& simulation);
// "/damaris.<uid>.<job>.<simulation>.<digest>.": of the key's only.
std::string region_prefix(const RunKey& key);
// The prefix of all regions of that region's run: its name without node and server.
std::string run_of_region(const std::string& region);
// The same for any simulation of this user's job.
std::string job_prefix();
// The prefix of all regions of one run; `nonce` distinguishes runs.
std::string run_prefix(const RunKey& key, std::uint64_t nonce);
// The full name.
std::string region_name(const RunKey& key, std::uint64_t nonce, int node, int server);
std::uint64_t make_nonce();

struct FoundRegion {
  std::string name;
  ProcessId server;
  bool alive = false;    // its server is a living process and has not closed it
  bool ready = false;    // clients may attach
  bool leaving = false;  // alive, but it takes no client any more
  bool detached = false;
  std::string simulation;
  std::uint64_t config_digest = 0, config_place = 0;
  std::size_t unreleased_blocks = 0;
  std::optional<StepRange> lacks_writes;  // of open steps that its run left out: data as well, as only a recovery records it
  int servers = 1;                        // of its run
  std::string spill_file;                 // "": none
  bool holds_data() const { return unreleased_blocks > 0 || lacks_writes; }
};

// "writes of step 7 were left out for want of room".
std::string omission_text(const StepRange& steps);

// A region that no process uses any more, of which it cannot be said whether it holds data.
struct UnreadRegion {
  std::string name, why;  // why: a sentence that names the region and what to do
};

// This user's readable regions with that prefix. Unreadable or foreign ones are passed over, never touched; `unread` gets those of them that
// may hold data of a dead server.
// Throws Error(DC_E_SHM) when /dev/shm cannot be listed.
std::vector<FoundRegion> find_regions(const std::string& prefix, std::vector<UnreadRegion>* unread = nullptr);

// Waits until no living region with that prefix is `is_blocking`: one that is leaving may still store the last data of the run before,
// and gets up to `timeout_ms` for that. Returns a region that stays in the way, or nothing; returns early once `stop` is set.
std::optional<FoundRegion> wait_until_clear(const std::string& prefix, std::int64_t timeout_ms,
                                        const std::function<bool(const FoundRegion&)>& is_blocking,
                                        const std::atomic<bool>* stop = nullptr);

// Stores what a region holds, and removes it. Throws Error when it cannot.
using Recover = std::function<void(const std::string& region)>;

// Removes the regions that dead servers of that run left, in any of this user's jobs: a simulation that is submitted again is another job.
// - Regions that hold no data, and unfinished ones: always; with `policy` recover, those of a run of several servers only after `recover`, as
//   their storage may still have to record what it holds.
// - Others, and those of another version or damaged that no process has open: as `policy` says.
// Throws Error(DC_E_STALE_REGION) naming the region and what to do, when `policy` is refuse or there is no `recover`, and what that
// throws; Error(DC_E_SHM) when /dev/shm cannot be listed, or a region in it not be opened for want of descriptors or memory.
void clear_dead_regions(const RunKey& key, model::StalePolicy policy, const Recover& recover = {});

// Logs which regions dead servers of the same simulation and job left that stored in another place: they block no start.
void warn_of_others(const RunKey& key);

}  // namespace damaris::shm
