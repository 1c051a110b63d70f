// Serializes the compiled model: the server stores it in the region, so that attaching clients and recovery parse no XML.
// Used by: to_json by servers, rank 0 of an MPI start and damaris-check; from_json by clients, the other ranks and recovery; at start-up.
#pragma once

#include <string>
#include <string_view>

#include "core/model/model.hpp"

namespace damaris::model {

// The format version: incremented with every change, so that a reader rejects text of another version.
constexpr int kJsonVersion = 8;

std::string to_json(const Model& model);
// Throws Error(DC_E_CONFIG) if the text is not a compiled model of this version.
Model from_json(std::string_view text);

}  // namespace damaris::model
