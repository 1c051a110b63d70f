// The picture of a replay's errors, which python/damaris/replay.py draws.
// Used by: damaris-replay, one thread.
// Before it: the report's JSON. After it: a file.
#pragma once

#include <string>

#include "core/base/json_fwd.hpp"

namespace damaris::replay {

// Throws tools::WrongUsage for a name that says no format; "" is none.
void check_picture(const std::string& path);
// Runs Python, and waits for it. Throws Error(DC_E_IO) if it has not drawn, after what it has said.
void draw(const Json& report, const std::string& path);

}  // namespace damaris::replay
