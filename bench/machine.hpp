// The machine a figure was measured on, and who runs on which of its cores.
// Used by: every benchmark, at its start.
// Before it: nothing. After it: the "machine" of the JSON, pinned processes.
#pragma once

#include <vector>

#include "core/base/json.hpp"

namespace damaris::bench {

// Processor, cores, memory, kernel, load, version of Damaris and how it was built.
Json describe_machine();

// The cores this process may use, lowest first, as they were when the program started.
const std::vector<int>& allowed_cores();
// Keeps the calling process on a core: clients on the first one, the server on the second. Returns false, nothing changed, when
// there is only one core: then both share it, and the table says so.
bool pin_to_client_core();
bool pin_to_server_core();

}  // namespace damaris::bench
