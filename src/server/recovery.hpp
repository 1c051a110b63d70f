// Stores what a dead server left in its region, as that server would have done: same plugin, same files, same record.
// Used by: damaris-recover, and servers at their start (stale="recover"); one thread. Nobody else uses the region meanwhile.
// Before it: a server that died with published blocks in hand. After it: the storage, and a region that can go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/process.hpp"
#include "core/model/model.hpp"
#include "core/shm/open_steps.hpp"
#include "core/shm/region.hpp"

namespace damaris::server {

// What a region says of itself, and of the data that were never stored.
struct Leftover {
  std::string name, simulation, host, folder, spill_file;
  int server_index = 0;
  ProcessId server;
  std::size_t datasets = 0, spilled = 0;       // in all, and of them in the spill file
  std::uint64_t bytes = 0;                     // of those that are not spilled
  std::int64_t first_step = 0, last_step = 0;  // of them too
  std::optional<shm::StepRange> lacks_writes;  // of which a recovery records as partial what was left out
  std::vector<std::int32_t> living_clients;    // processes that may still publish
};

// Throws Error(DC_E_SHM or DC_E_VERSION) when it cannot be read, Error(DC_E_REGION_IN_USE) while its server lives.
Leftover inspect_leftover(const std::string& region);

struct Recovery {
  std::size_t stored = 0, left = 0, given_up = 0;              // datasets
  std::optional<std::pair<std::int64_t, std::int64_t>> steps;  // the lowest and the highest of what was there, spilled or not
  Status status;                                               // of the first that was not stored
};

// Stores every published dataset; steps that not all clients had ended are marked partial. What cannot be stored stays, and the region
// with it; else its name is taken away. `basename` replaces that of the XML's storage unless it is empty; it, too, is relative to the
// folder that the dead server ran in. A lone server's region with nothing to store goes, whatever the storage says.
// Throws Error as above, Error(DC_E_NO_OUTPUT) with nothing stored while spilled datasets are missing, unless `give_up_spilled`: a step
// is stored once; Error(DC_E_REGION_IN_USE) while a client lives or another process recovers it; and what the storage's start throws.
Recovery recover(const std::string& region, const std::string& basename = "", bool give_up_spilled = false);

// The same for a server that is about to start. Throws Error(DC_E_STALE_REGION) also when something cannot be stored.
void recover_before_start(const std::string& region);

}  // namespace damaris::server
