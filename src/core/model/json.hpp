// Serializes a model: the server stores it in the region, so that attaching clients and recovery parse no XML.
// Used by: servers, rank 0 of an MPI start and damaris-check (to_json); clients, the other ranks and recovery (from_json); one thread, at
// start-up.
// Before it: config::parse. After it: the region, or a broadcast of MPI.
#pragma once

#include <string>
#include <string_view>

#include "core/model/model.hpp"

namespace damaris::model {

// The version of the text: incremented when its members or their meaning change, so that a reader rejects text of another version. The
// enumerators that a reader accepts are bounded in json.cpp.
constexpr int kJsonVersion = 12;

// The whole as one text. Throws Error(DC_E_CONFIG) if the path of the XML or of the working folder is not UTF-8; so does to_json_parts().
std::string to_json(const Model& model);
// Throws Error(DC_E_CONFIG) if the text is not a model of this version.
Model from_json(std::string_view text);

// In two parts: clients read only the first, the length of which does not depend on the number of variables.
struct JsonParts {
  std::string frame, rest;
};
struct JsonPartViews {
  std::string_view frame, rest;
};
JsonParts to_json_parts(const Model& model);
// Throw as above.
Frame frame_from_json(std::string_view text);
Model from_json(const JsonPartViews& parts);

}  // namespace damaris::model
