// Explains to the author of the file what the schema objects to: unknown names, missing attributes, values that do not fit.
// Used by: parse, one thread, at start-up, only for documents that the validation has refused.
// Before it: the tree and the schema's rules. After it: Problems.
#pragma once

#include "config/problems.hpp"
#include "config/schema.hpp"
#include "config/xml_reader.hpp"

namespace damaris::config {

// Adds at least one problem for a document with objections.
void explain(const Document& document, const Schema& schema, Problems& problems);

}  // namespace damaris::config
