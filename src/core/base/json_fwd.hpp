// The name of a JSON value, for headers that only declare functions of it: json.hpp takes seconds to compile, and many sources include
// such headers without a JSON value of their own.
// Used by: headers; a source that handles values includes json.hpp.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace damaris {
using Json = nlohmann::ordered_json;
}  // namespace damaris
