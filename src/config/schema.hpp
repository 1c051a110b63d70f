// The embedded schema, compiled by Xerces-C, and its rules for elements, attributes and values, from which error messages are made.
// Used by: xml_reader (validation) and build, one thread, at start-up.
// Before it: config-schemas/damaris.xsd. After it: validation, explanations.
#pragma once

#include <xercesc/util/XercesDefs.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

XERCES_CPP_NAMESPACE_BEGIN
class DatatypeValidator;
class XMLGrammarPool;
class XSAttributeUse;
class XSComplexTypeDefinition;
class XSElementDeclaration;
class XSParticle;
XERCES_CPP_NAMESPACE_END

namespace damaris::config {

namespace xerces = XERCES_CPP_NAMESPACE;

// Xerces is initialized while an object of this class exists. Xerces counts its users, so an application's own use is not disturbed.
class XercesUse {
 public:
  XercesUse();
  ~XercesUse();
  XercesUse(const XercesUse&) = delete;
  XercesUse& operator=(const XercesUse&) = delete;
};

// Call in a catch clause around the reading of `path`. Translates exceptions of Xerces, whose types no other code knows: std::bad_alloc
// when memory is short, Error(DC_E_INTERNAL) for a fault of the parser. Rethrows any other.
[[noreturn]] void throw_without_xerces(const std::string& path);

std::string utf8(const XMLCh* text);
std::basic_string<XMLCh> utf16(const std::string& text);

struct Document;
class Problems;

struct AttributeRule {
  std::string name;
  bool required = false;
  std::vector<std::string> values;  // of an enumeration; else empty
  std::string must_be;              // completes the sentence "... must be"
  xerces::DatatypeValidator* validator = nullptr;
};

struct ElementRule {
  std::vector<std::string> children;               // in schema order
  std::map<std::string, std::string> child_types;  // child name -> type name
  bool children_once = false;                      // each child may occur at most once
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
  // The rule of a type; that of the root is "simulation".
  const ElementRule& rule(const std::string& type) const { return rules_.at(type); }
  // The elements that may contain `name`, for "it belongs in ...".
  std::vector<std::string> parents_of(const std::string& name) const;
  bool matches(const AttributeRule& rule, const std::string& value) const;

 private:
  void compile();
  std::string add(xerces::XSElementDeclaration& element);
  void add_children(ElementRule& rule, xerces::XSParticle& particle);

  XercesUse use_;  // first member: Xerces must outlive the others
  std::unique_ptr<xerces::XMLGrammarPool> grammars_;
  std::map<std::string, ElementRule> rules_;                 // by type name
  std::map<std::string, std::vector<std::string>> parents_;  // by child name
};

// Translates the schema errors of an invalid document into messages for its author: unknown names, missing attributes, invalid
// values. Adds at least one problem.
void explain(const Document& document, const Schema& schema, Problems& problems);

}  // namespace damaris::config
