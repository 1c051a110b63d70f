// The same as config.hpp, for callers that parse many texts: compiling the schema takes longer than reading a configuration.
// Used by: config.hpp's parse, the fuzz target.
// Before it: Schema. After it: model::Model.
#pragma once

#include <string>

#include "config/schema.hpp"
#include "core/model/model.hpp"

namespace damaris::config {

model::Model parse(const std::string& text, const std::string& path, const Schema& schema);

}  // namespace damaris::config
