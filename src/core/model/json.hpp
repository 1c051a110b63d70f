// The compiled model as text: what the server puts into the region so that clients and recovery need no XML library.
// Used by: server (to_json) at start-up, clients and tools (from_json) at attach.
#pragma once

#include <string>
#include <string_view>

#include "core/model/model.hpp"

namespace damaris::model {

std::string to_json(const Model& model);
// Throws Error(DC_E_CONFIG) when the text is no compiled model of this version.
Model from_json(std::string_view text);

}  // namespace damaris::model
