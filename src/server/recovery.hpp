// Stores the data that a dead server left in its region, as that server would have done: same plugin, same files, same record.
// Used by: damaris-recover, and servers at start-up (stale="recover"); with exclusive use of the region.
// Before it: a server that died holding published blocks. After it: the storage, and a region that can be removed.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/model/model.hpp"
#include "core/shm/region.hpp"
#include "core/shm/steps.hpp"

namespace damaris::server {

// A summary of a region and of its data that were never stored.
struct Leftover {
  std::string name, simulation, host, folder, spill_file;
  int server_index = 0;
  std::int32_t server_pid = 0;
  std::size_t datasets = 0, spilled = 0;       // in total, and those of them in the spill file
  std::size_t appends = 0;                     // to logs, not among the datasets
  std::uint64_t append_bytes = 0;              // of them
  std::uint64_t bytes = 0;                     // of the datasets that are not spilled
  std::int64_t first_step = 0, last_step = 0;  // of the datasets that are not spilled
  std::optional<shm::StepRange> lost;          // which a recovery records
  std::vector<std::int32_t> living_clients;    // processes that may still publish
};

// Throws Error(DC_E_SHM or DC_E_VERSION) if it cannot be read, Error(DC_E_REGION_IN_USE) while its server is alive.
Leftover inspect_leftover(const std::string& region);

struct Recovery {
  std::size_t stored = 0, left = 0, given_up = 0;              // datasets and appends
  std::optional<std::pair<std::int64_t, std::int64_t>> steps;  // lowest and highest step found, spilled or not
  std::set<std::int64_t> partial;                              // steps recorded as incomplete
  Status status;                                               // why the first of the remaining datasets was not stored
};

// Stores every published dataset; steps that some client had not ended are marked partial. The region is removed unless datasets remain
// that could not be stored. A non-empty `basename` replaces that of the XML's storage; it, too, is relative to the dead server's working
// directory. The region of a single server with nothing to store is removed even if the storage fails.
// Throws Error as above; Error(DC_E_NO_OUTPUT), with nothing stored, if spilled datasets are missing, unless `ignore_missing_spill`, because a
// step is stored only once; Error(DC_E_REGION_IN_USE) while a client is alive or another process recovers the region; and what the start of
// the storage throws.
Recovery recover(const std::string& region, const std::string& basename = "", bool ignore_missing_spill = false);

// The same for a server that is about to start. Also throws Error(DC_E_STALE_REGION) if datasets cannot be stored.
void recover_before_start(const std::string& region);

}  // namespace damaris::server
