// A region in /dev/shm whose server has died.
// Used by: the tests of what a start does with it, one thread.
// Before it: nothing. After it: clear_dead_regions.
#pragma once

#include <unistd.h>

#include <string>

#include "core/shm/arena.hpp"
#include "core/shm/dead_regions.hpp"
#include "core/shm/region.hpp"

namespace damaris::shm {

inline bool exists(const std::string& name) { return ::access(("/dev/shm" + name).c_str(), F_OK) == 0; }

// A region whose server has died: made here, and released without being removed.
struct DeadRegion {
  explicit DeadRegion(bool with_data, int servers = 1, const RunKey& key = "dead") {
    RegionSpec spec;
    spec.name = name = region_name(key, make_nonce(), 0, 0);
    spec.simulation = key.simulation;
    spec.server_count = servers;
    spec.buffer_bytes = 64 * 1024;
    Region region = Region::create(spec);
    region.set_ready();
    const LaneSpan span = region.span(0);
    Arena arena(region.at(span.arena_offset), span.arena_bytes, region.lane(0));
    if (with_data) arena.try_reserve(100)->state.store(static_cast<std::uint32_t>(BlockState::published));
    region.memory().disown_name();
  }
  ~DeadRegion() { ::unlink(("/dev/shm" + name).c_str()); }
  std::string name;
};

}  // namespace damaris::shm
