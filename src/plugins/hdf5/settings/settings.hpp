// The values of the attributes of <hdf5>, checked by config, and the checks that only the plugin can make.
// Used by: the hdf5 plugin's init, on the server's work thread.
// Before it: dc_host_t, attributes.hpp. After it: storage.hpp.
#pragma once

#include <damaris/plugin.h>

#include <optional>
#include <string>
#include <vector>

#include "../attributes/attributes.hpp"
#include "manifest/writer.hpp"

namespace damaris::hdf5 {

// Both in the order of the choices in attributes.hpp.
enum class Files { per_server, per_group, single };

enum class ScheduleKind { immediate, slots, coordinated };

struct Settings {
  std::string basename;  // folder and start of the file names; default: the simulation's name
  std::vector<Filter> filters;
  std::string restart;  // basename of the run that clients may read from; "": none
  Files files = Files::per_server;
  int group_size = static_cast<int>(preset_of("group-size"));                    // per_group: servers that write a file together
  int threads = static_cast<int>(preset_of("threads"));                          // that compress chunks
  std::uint64_t memory_bytes = static_cast<std::uint64_t>(preset_of("memory"));  // that the plugin may take beyond the region
  manifest::Existing existing = manifest::Existing::automatic;
  ScheduleKind schedule = ScheduleKind::immediate;
  int writers = static_cast<int>(preset_of("writers"));  // coordinated: servers that may write at the same time
  std::optional<std::int64_t> retry_ms;                  // how long at most to retry what the file system refuses
  // coordinated: afterwards a server writes without a grant; shared files: afterwards the step fails.
  std::int64_t turn_timeout_ms = preset_of("turn-timeout");
};

// Whether both denote the same run.
bool same_place(const std::string& basename, const std::string& other);

// Throws damaris::Error(DC_E_CONFIG) naming the setting, for what config has not checked or cannot check.
Settings read_settings(const dc_host_t& host);

}  // namespace damaris::hdf5
