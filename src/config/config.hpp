// XML file -> model: schema validation, then semantic checks. The only folder that uses Xerces-C.
// Used by: damaris-server, clients that find no server, in-place processes, rank 0 of an MPI start, damaris-check; one thread, at
// start-up.
// Before it: the user's XML. After it: model::Model.
#pragma once

#include <string>

#include "core/model/model.hpp"

namespace damaris::config {

class Schema;

// Parses and checks `text`; messages name `path` ("file:line:column: what; what is allowed; did you mean ...?").
// Throws Error(DC_E_CONFIG) with all errors found, one per line (at most 20).
model::Model parse(const std::string& text, const std::string& path);

// The same for callers that parse many texts: compiling the schema takes longer than reading a configuration.
model::Model parse(const std::string& text, const std::string& path, const Schema& schema);

}  // namespace damaris::config
