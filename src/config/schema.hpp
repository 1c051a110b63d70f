// The embedded schema, compiled, and what it says about elements, attributes and values: the words of error messages.
// Used by: xml_reader (validation) and explain, one thread, at start-up.
// Before it: config-schemas/damaris.xsd. After it: validation, explanations.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/xerces.hpp"

XERCES_CPP_NAMESPACE_BEGIN
class DatatypeValidator;
class XMLGrammarPool;
class XSAttributeUse;
class XSComplexTypeDefinition;
class XSElementDeclaration;
class XSParticle;
XERCES_CPP_NAMESPACE_END

namespace damaris::config {

struct Document;
class Problems;

struct AttributeRule {
  std::string name;
  bool required = false;
  std::vector<std::string> values;  // an enumeration, or empty
  std::string must_be;              // ends the sentence "... must be"
  xerces::DatatypeValidator* validator = nullptr;
};

struct ElementRule {
  std::vector<std::string> children;               // in the order of the schema
  std::map<std::string, std::string> child_types;  // name of a child -> name of its type
  bool children_once = false;                      // each child at most once
  std::vector<AttributeRule> attributes;

  const AttributeRule* attribute(const std::string& name) const;
  std::vector<std::string> attribute_names() const;
};

class Schema {
 public:
  Schema();
  ~Schema();
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;

  xerces::XMLGrammarPool* grammars() const { return grammars_.get(); }
  static constexpr const char* kRoot = "simulation";
  // The rule of a type; "simulation" is the root's.
  const ElementRule& rule(const std::string& type) const { return rules_.at(type); }
  // The elements in which `name` is allowed: for "it belongs into ...".
  std::vector<std::string> parents_of(const std::string& name) const;
  bool matches(const AttributeRule& rule, const std::string& value) const;

 private:
  void compile();
  std::string add(xerces::XSElementDeclaration& element);
  void add_children(ElementRule& rule, xerces::XSParticle& particle);

  XercesUse use_;  // first: all others end before it
  std::unique_ptr<xerces::XMLGrammarPool> grammars_;
  std::map<std::string, ElementRule> rules_;                 // by type name
  std::map<std::string, std::vector<std::string>> parents_;  // by name of the child
};

// Explains to the author of a document that the validation has refused what the schema objects to: unknown names, missing attributes, values
// that do not fit. Adds at least one problem.
void explain(const Document& document, const Schema& schema, Problems& problems);

}  // namespace damaris::config
