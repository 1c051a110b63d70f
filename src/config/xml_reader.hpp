// Text -> tree, by Xerces-C's SAX2 parser with full schema validation; refuses DTDs and every external entity.
// Used by: parse, one thread, at start-up.
// Before it: the text of the file and the embedded schema. After it: the tree, and what the schema objects to.
#pragma once

#include <string>
#include <vector>

#include "config/problems.hpp"
#include "config/schema.hpp"
#include "config/xml_tree.hpp"

namespace damaris::config {

struct Objection {
  Location where;
  std::string sentence;  // in the words of Xerces-C
};

struct Document {
  Element root;                       // without a name when nothing was read
  std::vector<Objection> objections;  // of the schema; empty: the document is valid
};

// Throws Error(DC_E_CONFIG) through `problems` when the text is no well-formed XML or holds what is refused.
Document read_xml(const std::string& text, const Schema& schema, Problems& problems);

}  // namespace damaris::config
