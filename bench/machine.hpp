// The machine of a measurement, and which process runs on which of its cores.
// Used by: every benchmark, at its start.
// Before it: nothing. After it: the "machine" of the JSON, pinned processes.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/json.hpp"

namespace damaris::bench {

// Processor, cores, memory, kernel, load, version of Damaris and how it was built.
Json describe_machine();

// The cores this process may use, lowest first, as they were when the program started.
const std::vector<int>& allowed_cores();
// Keeps the calling process on a core, the `index`-th of those allowed. Returns false, nothing changed, when there is only one core:
// then all share it, and the table says so.
bool pin_to_core(std::size_t index);
// Of one client and one server: the first core and the second.
inline constexpr std::size_t kClientCore = 0, kServerCore = 1;
inline bool pin_to_client_core() { return pin_to_core(kClientCore); }
inline bool pin_to_server_core() { return pin_to_core(kServerCore); }

}  // namespace damaris::bench
