// What the XML says of the files: the attributes of <hdf5>, checked.
// Used by: the hdf5 plugin's init, on the server's dispatch thread.
// Before it: dc_host_t. After it: storage.hpp.
#pragma once

#include <damaris/plugin.h>

#include <string>
#include <vector>

#include "../layout/memory.hpp"
#include "../write/filters.hpp"
#include "manifest/manifest_file.hpp"

namespace damaris::hdf5 {

enum class Files { per_server, per_group, single };

enum class ScheduleKind { immediate, slots, coordinated };

struct Settings {
  std::string basename;  // folder and start of the file names; default: the simulation's name
  std::vector<Filter> filters;
  std::string restart;  // basename of the run that clients may read from; "": none
  Files files = Files::per_server;
  int group_size = 4;                                       // per_group: servers that write a file together
  int threads = 1;                                          // that compress chunks
  std::uint64_t memory_bytes = MemoryBound::kDefaultBytes;  // that the plugin may take beyond the region
  manifest::Existing existing = manifest::Existing::overwrite;
  ScheduleKind schedule = ScheduleKind::immediate;
  int writers = 1;                        // coordinated: servers that may write at the same time
  std::int64_t retry_ms = 30'000;         // how long is tried again what the file system refuses
  std::int64_t turn_timeout_ms = 60'000;  // coordinated: after it a server writes without a turn; files of several: it fails
};

// Whether both mean the same run.
bool same_place(const std::string& basename, const std::string& other);

// Throws damaris::Error(DC_E_CONFIG), naming the attribute, what is allowed and the remedy.
Settings read_settings(const dc_host_t& host);

}  // namespace damaris::hdf5
