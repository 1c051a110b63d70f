// String formatting for messages: the one place that includes fmt.
// Used by: every folder, off the hot path only.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace damaris {
using fmt::format;
using fmt::join;
}  // namespace damaris
