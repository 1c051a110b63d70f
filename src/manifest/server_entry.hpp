// The lines of a server in the manifest other than its steps: that it joined the run, and how it ended.
// Used by: the hdf5 plugin on the server's work thread; `damaris verify`, restart.
// Before it: writer.hpp, at the server's start and end. After it: completeness.hpp judges steps by it.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

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

struct ServerEntry {
  enum class What { joined, ended };
  What what = What::joined;
  int server = 0;
  std::string host;
  Losses losses;             // with `ended`, which means that the manifest has all data that the server received
  bool all = false;          // with `ended`: all servers of the run have
  bool recovered = false;    // with `ended`: the server was killed, and its data were recovered
  std::string regions = {};  // with `joined`: as in RunEntry, of this server. "": a line of an earlier version
};

Json to_json(const ServerEntry& entry);
// Returns nothing for other lines. Throws damaris::Error(DC_E_IO) for a damaged one; the caller adds the place.
std::optional<ServerEntry> server_entry_from_json(const Json& json);

}  // namespace damaris::manifest
