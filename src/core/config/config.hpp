// XML file -> model: schema validation, then meaning. The one place with Xerces-C.
// Used by: servers, in-place processes, rank 0 of an MPI start, damaris-check; before any region exists.
// Before it: the user's XML. After it: model::Model.
#pragma once

#include <string>

#include "core/model/model.hpp"

namespace damaris::config {

// Reads a whole file. Throws Error(DC_E_CONFIG): missing, a folder, not readable, empty, or larger than 64 MiB.
std::string read_file(const std::string& path);

// Parses and checks `text`; `path` is for messages ("file:line:column: what; what is allowed; did you mean ...?").
// Throws Error(DC_E_CONFIG) with every error found, one a line (at most 20).
model::Model parse(const std::string& text, const std::string& path);

// 64-bit digest of the configuration's text, as compared at attach and between ranks.
std::uint64_t digest(const std::string& text);

}  // namespace damaris::config
