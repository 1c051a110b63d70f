// The text of an XML file as a tree of elements with attributes, each with its location, independent of any XML library; and the problems
// found in it, collected so that one run reports all of them. Xerces-C's SAX2 parser reads and validates it; DTDs and external entities are
// rejected.
// Used by: the process that reads the configuration, one thread, at start-up.
// Before it: the text of the file and the embedded schema. After it: explain (messages for schema errors), then the builders of the model;
// Error(DC_E_CONFIG).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/model/model.hpp"

namespace damaris::config {

class Schema;
using model::Location;

struct Attribute {
  std::string name, value;
  Location where;        // of the name
  Location value_where;  // of the value's first character; if `plain`, columns inside the value can be counted from it
  bool given = false;    // false: the default from the schema
  bool plain = false;    // written without entities and line breaks
};

struct Element {
  std::string name;
  std::string space;  // XML namespace; "" is ours
  Location where;     // of '<'
  std::vector<Attribute> attributes;
  std::vector<Element> children;
  std::string text;  // the first non-blank characters between the tags; normally ""
  Location text_where;

  // The attribute, given or defaulted; nullptr if there is none.
  const Attribute* find(const std::string& attribute) const;
  // The value of an attribute that is required or has a default.
  const std::string& value(const std::string& attribute) const;
  // As value(), but "" if the attribute is absent.
  std::string value_or_empty(const std::string& attribute) const;
  bool is_true(const std::string& attribute) const { return value(attribute) == "true"; }
};

// Truncates `text` for a message.
std::string shortened(const std::string& text);
// name="value", as in the file, for messages.
std::string quoted(const Attribute& attribute);

// The location of character `index` of the value.
Location inside(const Attribute& attribute, std::size_t index);

class Problems {
 public:
  explicit Problems(std::string path) : path_(std::move(path)) {}

  void add(Location where, std::string sentence);
  bool empty() const noexcept { return list_.empty(); }
  std::size_t size() const noexcept { return list_.size(); }
  // There are so many problems that the rest of the file need not be checked.
  bool many() const noexcept { return list_.size() > 1000; }
  // Throws Error(DC_E_CONFIG) with the first 20 problems, one per line, if there are any.
  void throw_if_any();

 private:
  struct Problem {
    Location where;
    std::string sentence;
  };
  std::string path_;
  std::vector<Problem> list_;
};

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
