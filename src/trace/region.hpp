// How Damaris tells the recorder what its server is doing: calls of the layer `server`, and whose blocks they are about.
// Used by: core/base/observed.hpp, which looks for a recorder in the process; the recorder, which has these functions.
// Before it: a callback of a plugin, or a dataset that is stored. After it: a call in the trace, and its `block` slots.
#pragma once

#include <cstddef>
#include <cstdint>

namespace damaris::trace {

// The block of a client of which a region works on `bytes`; variable and step are those of the region.
struct BlockKey {
  std::int32_t source, block;
  std::uint64_t bytes;
};

struct Region {
  const char* call;         // as in probes/server.toml
  const char *kind, *name;  // of the object: "plugin" or "variable"
  std::int64_t step;        // kNowhere for none
  std::uint64_t bytes;      // that it moves
  const BlockKey* blocks;
  std::size_t block_count;
};

// Calls `body` with `argument`, which must not throw, and returns what it returns: negative for a failure.
using RunRegion = int(const Region* region, int (*body)(void* argument), void* argument);
// From now on the calls of this process are those of the client `id`, -1 for a server, of the run `run` of a simulation.
using TellClient = void(int id, std::uint64_t run);
inline constexpr char kRunRegion[] = "damaris_recorder_region_1", kTellClient[] = "damaris_recorder_client_2";

}  // namespace damaris::trace
