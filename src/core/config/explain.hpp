// What the schema objects to, in words for the person who wrote the file: unknown names, missing attributes, values that do not fit.
// Used by: parse, one thread, at start-up, only for documents that the validation has refused.
// Before it: the tree and the schema's rules. After it: Problems.
#pragma once

#include "core/config/problems.hpp"
#include "core/config/schema.hpp"
#include "core/config/xml_reader.hpp"

namespace damaris::config {

// Adds at least one problem for a document with objections.
void explain(const Document& document, const Schema& schema, Problems& problems);

}  // namespace damaris::config
