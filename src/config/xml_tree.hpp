// The XML as elements with attributes, each with its location in the text, independent of any XML library.
// Used by: the process that reads the configuration, one thread, at start-up.
// Before it: xml_reader. After it: explain (messages for schema errors), then the builders of the model.
#pragma once

#include <string>
#include <vector>

#include "core/model/model.hpp"

namespace damaris::config {

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

}  // namespace damaris::config
