// Serializes the compiled model: the server stores it in the region, so that attaching clients and recovery parse no XML.
// Used by: servers, rank 0 of an MPI start and damaris-check (to_json); clients, the other ranks and recovery (from_json); one thread, at
// start-up.
// Before it: config::parse. After it: the region, or a broadcast of MPI.
#pragma once

#include <string>
#include <string_view>

#include "core/model/model.hpp"

namespace damaris::model {

// The version of the text: incremented when its members or their meaning change, so that a reader rejects text of another version. The
// enumerators that a reader accepts are bounded in json_read.cpp.
constexpr int kJsonVersion = 11;

std::string to_json(const Model& model);
// Throws Error(DC_E_CONFIG) if the text is not a compiled model of this version.
Model from_json(std::string_view text);

}  // namespace damaris::model
