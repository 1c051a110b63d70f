// Text -> tree, with Xerces-C's SAX2 parser and full schema validation; rejects DTDs and external entities.
// Used by: parse, one thread, at start-up.
// Before it: the text of the file and the embedded schema. After it: the tree and the schema errors.
#pragma once

#include <string>
#include <vector>

#include "config/problems.hpp"
#include "config/schema.hpp"
#include "config/xml_tree.hpp"

namespace damaris::config {

struct SchemaError {
  Location where;
  std::string sentence;  // by Xerces-C
};

struct Document {
  Element root;                            // without a name if nothing was read
  std::vector<SchemaError> schema_errors;  // empty: the document is valid
};

// Throws Error(DC_E_CONFIG) through `problems` if the text is not well-formed XML or contains a DTD or external entity.
Document read_xml(const std::string& text, const Schema& schema, Problems& problems);

}  // namespace damaris::config
