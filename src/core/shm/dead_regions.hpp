// The search for this user's regions, and the removal or recovery of those that dead servers left.
// Used by: servers at start-up (remove, recover or refuse the regions of dead jobs), clients of a detached server (find it),
// damaris-recover, damaris-verify; one thread.
// Before it: the model, region_names.hpp and /dev/shm. After it: region.hpp opens what was found; recovery.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/model.hpp"
#include "core/shm/region_names.hpp"
#include "core/shm/steps.hpp"

namespace damaris::shm {

struct FoundRegion {
  std::string name;
  std::int32_t server_pid = 0;
  bool alive = false;    // its server is alive and has not closed it
  bool ready = false;    // clients may attach
  bool leaving = false;  // alive, but accepts no more clients
  bool detached = false;
  std::string simulation;
  std::uint64_t config_digest = 0, config_place = 0;
  std::size_t unreleased_blocks = 0;
  std::optional<StepRange> lost;  // counts as data, because only a recovery records it
  int servers = 1;                // of its run
  std::string spill_file;         // "": none
  // Of a dead server: processes that may still publish.
  std::vector<std::int32_t> living_clients;
  bool holds_data() const { return unreleased_blocks > 0 || lost.has_value(); }
};

// A region that cannot be read, and may hold data of a dead server.
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
// - None while a client of it lives, which may still publish: one with data is then an error unless `policy` is discard, any other stays,
//   and the log names both.
// - Others, and regions that cannot be read and that no process has open: according to `policy`.
// Throws Error(DC_E_STALE_REGION) with the region and the remedy, if `policy` is refuse or there is no `recover`; what `recover` throws;
// Error(DC_E_REGION_IN_USE) with the process, for data and a living client, or with the region, if another process holds it;
// Error(DC_E_SHM) if /dev/shm cannot be listed.
void clear_dead_regions(const RunKey& key, model::StalePolicy policy, const Recover& recover = {});

// Logs the regions of dead servers of the same simulation and job with another output location; they do not block a start.
void warn_of_others(const RunKey& key);

}  // namespace damaris::shm
