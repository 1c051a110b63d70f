// The XML as a tree of our own: elements with attributes, each with its place in the text, free of any XML library.
// Used by: the process that reads the configuration, one thread, at start-up.
// Before it: xml_reader. After it: explain (schema errors in words), then the builders of the model.
#pragma once

#include <string>
#include <vector>

#include "core/model/model.hpp"

namespace damaris::config {

using model::Location;

struct Attribute {
  std::string name, value;
  Location where;        // of the name
  Location value_where;  // of the value's first character; columns inside the value count on from it if `plain`
  bool given = false;    // false: the schema's default
  bool plain = false;    // written without entities and line breaks
};

struct Element {
  std::string name;
  std::string space;  // namespace, "" for ours
  Location where;     // of '<'
  std::vector<Attribute> attributes;
  std::vector<Element> children;
  std::string text;  // the first characters between the tags that are no blanks, "" usually
  Location text_where;

  // The attribute, given or by default; nullptr when there is none.
  const Attribute* find(const std::string& attribute) const;
  // The value of an attribute that the schema requires or gives a default.
  const std::string& value(const std::string& attribute) const;
  // As value, but "" for an attribute that is not there.
  std::string value_or_empty(const std::string& attribute) const;
  bool is_true(const std::string& attribute) const { return value(attribute) == "true"; }
};

// A text cut to a length that helps to find it.
std::string shown(const std::string& text);
// name="value", as it stands in the file, for messages.
std::string quoted(const Attribute& attribute);

// Where character `index` of the value stands.
Location inside(const Attribute& attribute, std::size_t index);

}  // namespace damaris::config
