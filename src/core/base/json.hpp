// JSON values: the one place that includes nlohmann-json.
// Used by: the compiled model in the region, commit records, tools and benchmarks; never on the hot path.
#pragma once

#include <nlohmann/json.hpp>

namespace damaris {
using Json = nlohmann::ordered_json;
}  // namespace damaris
