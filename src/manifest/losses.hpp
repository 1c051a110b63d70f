// What the clients of a server that has ended have not delivered.
// Used by: the hdf5 plugin on the server's work thread; tools.
// Before it: the end of a server. After it: delivery.hpp judges steps by it.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <map>

#include "entries.hpp"

namespace damaris::manifest {

// Clients of a server that died, were stopped or never attached: they deliver nothing for later steps.
struct Losses {
  std::map<std::int32_t, std::int64_t> last_steps;  // by client: the last step that it ended; -1: none
  std::uint64_t never_attached = 0;

  // Adds to `record` the clients that have not ended its step.
  void add_to(StepEntry& record) const;
};

Losses losses_of(const dc_host_t& host);
Json to_json(const Losses& losses);
// Throws Json::exception.
Losses losses_from(const Json& json);

}  // namespace damaris::manifest
