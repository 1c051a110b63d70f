#include "config/schema.hpp"

#include <xercesc/framework/MemBufInputSource.hpp>
#include <xercesc/framework/XMLGrammarPoolImpl.hpp>
#include <xercesc/framework/psvi/XSAnnotation.hpp>
#include <xercesc/framework/psvi/XSAttributeDeclaration.hpp>
#include <xercesc/framework/psvi/XSAttributeUse.hpp>
#include <xercesc/framework/psvi/XSComplexTypeDefinition.hpp>
#include <xercesc/framework/psvi/XSElementDeclaration.hpp>
#include <xercesc/framework/psvi/XSModel.hpp>
#include <xercesc/framework/psvi/XSModelGroup.hpp>
#include <xercesc/framework/psvi/XSParticle.hpp>
#include <xercesc/framework/psvi/XSSimpleTypeDefinition.hpp>
#include <xercesc/sax/SAXException.hpp>
#include <xercesc/sax/SAXParseException.hpp>
#include <xercesc/sax2/DefaultHandler.hpp>
#include <xercesc/sax2/SAX2XMLReader.hpp>
#include <xercesc/sax2/XMLReaderFactory.hpp>
#include <xercesc/util/OutOfMemoryException.hpp>
#include <xercesc/util/PanicHandler.hpp>
#include <xercesc/util/PlatformUtils.hpp>
#include <xercesc/util/TransService.hpp>
#include <xercesc/util/XMLException.hpp>
#include <xercesc/util/XMLUni.hpp>
#include <xercesc/validators/datatype/DatatypeValidator.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <new>

#include "config/xml_reader.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "embedded/damaris_xsd.hpp"

namespace damaris::config {
namespace {

// Xerces' user count is not thread-safe.
std::mutex use_mutex;

// Xerces' default handler ends the process. Panic_AllStaticInitErr is also what it reports when an allocation has failed.
class Panic : public xerces::PanicHandler {
 public:
  void panic(const PanicReasons reason) override {
    if (reason == Panic_AllStaticInitErr) throw std::bad_alloc();
    throw Error(DC_E_INTERNAL, format("the XML parser cannot start: {}", getPanicReasonString(reason)));
  }
};

// The schema is embedded: any error in it is an internal error of this build.
class SchemaFault : public xerces::DefaultHandler {
 public:
  void warning(const xerces::SAXParseException& wrong) override { error(wrong); }
  void error(const xerces::SAXParseException& wrong) override {
    throw Error(DC_E_INTERNAL,
                format("damaris.xsd:{}:{}: {}", wrong.getLineNumber(), wrong.getColumnNumber(), utf8(wrong.getMessage())));
  }
  void fatalError(const xerces::SAXParseException& wrong) override { error(wrong); }
};

// The text of <xs:documentation> in an annotation.
std::string documentation(const xerces::XSAnnotationList* annotations) {
  if (annotations == nullptr || annotations->size() == 0) return "";
  const std::string text = utf8(annotations->elementAt(0)->getAnnotationString());
  const std::size_t tag = text.find("documentation");
  const std::size_t begin = text.find('>', tag);
  const std::size_t end = text.find('<', begin);
  return tag == std::string::npos || end == std::string::npos ? "" : text.substr(begin + 1, end - begin - 1);
}

AttributeRule attribute_rule(const xerces::XSAttributeUse& use) {
  const xerces::XSAttributeDeclaration& declaration = *use.getAttrDeclaration();
  xerces::XSSimpleTypeDefinition& type = *declaration.getTypeDefinition();
  AttributeRule rule;
  rule.name = utf8(declaration.getName());
  rule.required = use.getRequired();
  rule.must_be = documentation(type.getAnnotations());
  rule.validator = type.getDatatypeValidator();
  if (const xerces::StringList* values = type.getLexicalEnumeration())
    for (XMLSize_t i = 0; i < values->size(); ++i) rule.values.push_back(utf8(values->elementAt(i)));
  return rule;
}

std::string tags(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += format("{}<{}>", text.empty() ? "" : ", ", name);
  return text;
}

class Explainer {
 public:
  Explainer(const Schema& schema, Problems& problems) : schema_(schema), problems_(problems) {}

  void root(const Element& element) {
    if (foreign(element)) return;
    if (element.name != Schema::kRoot)
      return problems_.add(element.where, format("the outermost element is <{}>; it must be <{}>", element.name, Schema::kRoot));
    inside(element, schema_.rule(Schema::kRoot));
  }

 private:
  void inside(const Element& element, const ElementRule& rule) {
    attributes(element, rule);
    if (!element.text.empty())
      problems_.add(element.text_where, format("text '{}' inside <{}>; a configuration has only elements and attributes",
                                               shortened(element.text), element.name));
    std::map<std::string, Location> seen;
    for (const Element& child : element.children) {
      if (problems_.many()) return;
      if (foreign(child)) continue;
      const auto type = rule.child_types.find(child.name);
      if (type == rule.child_types.end()) {
        unknown(element, child, rule);
        continue;
      }
      const auto [first, fresh] = seen.emplace(child.name, child.where);
      if (rule.children_once && !fresh)
        problems_.add(child.where, format("a second <{}> inside <{}>; only one is allowed, the first is at line {}", child.name,
                                          element.name, first->second.line));
      inside(child, schema_.rule(type->second));
    }
  }

  bool foreign(const Element& element) {
    if (element.space.empty()) return false;
    problems_.add(element.where,
                  format("<{}> is in the XML namespace '{}'; the elements of Damaris are in none: remove xmlns=\"...\"",
                         element.name, shortened(element.space)));
    return true;
  }

  void unknown(const Element& parent, const Element& child, const ElementRule& rule) {
    const std::vector<std::string> parents = schema_.parents_of(child.name);
    if (!parents.empty())
      return problems_.add(child.where,
                           format("<{}> is not allowed inside <{}>; it belongs in {}", child.name, parent.name, tags(parents)));
    if (rule.children.empty())
      return problems_.add(child.where,
                           format("<{}> is not known; <{}> holds no elements, only attributes", child.name, parent.name));
    const std::string near = nearest_name(child.name, rule.children);
    problems_.add(child.where, format("<{}> is not known inside <{}>; {}", child.name, parent.name,
                                      near.empty() ? "allowed are " + tags(rule.children) : format("did you mean <{}>?", near)));
  }

  void attributes(const Element& element, const ElementRule& rule) {
    std::vector<std::string> intended;  // required attributes that were probably misspelt
    for (const Attribute& attribute : element.attributes) {
      const AttributeRule* known = rule.attribute(attribute.name);
      if (known == nullptr)
        intended.push_back(unknown(element, attribute, rule));
      else if (!schema_.matches(*known, attribute.value))
        wrong_value(attribute, *known);
    }
    for (const AttributeRule& known : rule.attributes)
      if (known.required && element.find(known.name) == nullptr && std::count(intended.begin(), intended.end(), known.name) == 0)
        problems_.add(element.where, format("<{}> lacks its attribute '{}'", element.name, known.name));
  }

  // Returns the name that was probably intended.
  std::string unknown(const Element& element, const Attribute& attribute, const ElementRule& rule) {
    const std::vector<std::string> names = rule.attribute_names();
    const std::string near = nearest_name(attribute.name, names);
    const std::string hint = names.empty()   ? "it has none"
                             : !near.empty() ? format("did you mean '{}'?", near)
                                             : format("allowed are {}", join(names, ", "));
    problems_.add(attribute.where, format("<{}> has no attribute '{}'; {}", element.name, attribute.name, hint));
    return near;
  }

  void wrong_value(const Attribute& attribute, const AttributeRule& rule) {
    const std::string near = nearest_name(attribute.value, rule.values);
    problems_.add(attribute.value_where, format("{}: it must be {}{}", quoted(attribute), rule.must_be,
                                                near.empty() ? "" : format("; did you mean '{}'?", near)));
  }

  const Schema& schema_;
  Problems& problems_;
};

}  // namespace

// A start that fails leaves Xerces half made and counted as made, so it is not tried again.
XercesUse::XercesUse() {
  static Panic panic;
  static bool has_failed = false;
  const std::lock_guard<std::mutex> lock(use_mutex);
  if (has_failed) throw std::bad_alloc();
  has_failed = true;
  xerces::XMLPlatformUtils::Initialize(xerces::XMLUni::fgXercescDefaultLocale, nullptr, &panic);
  has_failed = false;
}

XercesUse::~XercesUse() {
  const std::lock_guard<std::mutex> lock(use_mutex);
  xerces::XMLPlatformUtils::Terminate();
}

void throw_without_xerces(const std::string& path) try { throw; } catch (const xerces::OutOfMemoryException&) {
  throw std::bad_alloc();
} catch (const xerces::XMLException& fault) {
  throw Error(DC_E_INTERNAL, format("{}: the XML parser failed: {}", path, utf8(fault.getMessage())));
} catch (const xerces::SAXException& fault) {
  throw Error(DC_E_INTERNAL, format("{}: the XML parser failed: {}", path, utf8(fault.getMessage())));
}

std::string utf8(const XMLCh* text) {
  if (text == nullptr) return "";
  const xerces::TranscodeToStr result(text, "UTF-8");
  return std::string(reinterpret_cast<const char*>(result.str()), result.length());
}

std::basic_string<XMLCh> utf16(const std::string& text) {
  const xerces::TranscodeFromStr result(reinterpret_cast<const XMLByte*>(text.data()), text.size(), "UTF-8");
  return std::basic_string<XMLCh>(result.str(), result.length());
}

const AttributeRule* ElementRule::attribute(const std::string& name) const {
  for (const AttributeRule& rule : attributes)
    if (rule.name == name) return &rule;
  return nullptr;
}

std::vector<std::string> ElementRule::attribute_names() const {
  std::vector<std::string> names;
  for (const AttributeRule& rule : attributes) names.push_back(rule.name);
  return names;
}

Schema::Schema() : grammars_(std::make_unique<xerces::XMLGrammarPoolImpl>(xerces::XMLPlatformUtils::fgMemoryManager)) {
  compile();
  bool changed = false;
  xerces::XSModel& model = *grammars_->getXSModel(changed);
  xerces::XSElementDeclaration* root = model.getElementDeclaration(utf16(kRoot).c_str(), nullptr);
  if (root == nullptr) throw Error(DC_E_INTERNAL, "damaris.xsd declares no <simulation>");
  add(*root);
}

Schema::~Schema() = default;

void Schema::compile() {
  const std::unique_ptr<xerces::SAX2XMLReader> reader(
      xerces::XMLReaderFactory::createXMLReader(xerces::XMLPlatformUtils::fgMemoryManager, grammars_.get()));
  SchemaFault fault;
  reader->setErrorHandler(&fault);
  reader->setFeature(xerces::XMLUni::fgXercesSchemaFullChecking, true);
  const auto text = embedded::damaris_xsd;
  const xerces::MemBufInputSource source(reinterpret_cast<const XMLByte*>(text.data()), text.size(), "damaris.xsd");
  reader->loadGrammar(source, xerces::Grammar::SchemaGrammarType, true);
}

std::string Schema::add(xerces::XSElementDeclaration& element) {
  auto* type = static_cast<xerces::XSComplexTypeDefinition*>(element.getTypeDefinition());
  const std::string name = utf8(type->getName());
  if (rules_.count(name) != 0) return name;
  ElementRule& rule = rules_[name];
  if (xerces::XSParticle* particle = type->getParticle()) add_children(rule, *particle);
  if (xerces::XSAttributeUseList* uses = type->getAttributeUses())
    for (XMLSize_t i = 0; i < uses->size(); ++i) rule.attributes.push_back(attribute_rule(*uses->elementAt(i)));
  for (const std::string& child : rule.children) parents_[child].push_back(utf8(element.getName()));
  return name;
}

void Schema::add_children(ElementRule& rule, xerces::XSParticle& particle) {
  if (particle.getTermType() == xerces::XSParticle::TERM_ELEMENT) {
    const std::string name = utf8(particle.getElementTerm()->getName());
    rule.children.push_back(name);
    rule.child_types[name] = add(*particle.getElementTerm());
    return;
  }
  if (particle.getTermType() != xerces::XSParticle::TERM_MODELGROUP) return;
  const xerces::XSModelGroup& group = *particle.getModelGroupTerm();
  if (group.getCompositor() == xerces::XSModelGroup::COMPOSITOR_ALL) rule.children_once = true;
  xerces::XSParticleList* particles = group.getParticles();
  for (XMLSize_t i = 0; i < particles->size(); ++i) add_children(rule, *particles->elementAt(i));
}

std::vector<std::string> Schema::parents_of(const std::string& name) const {
  const auto found = parents_.find(name);
  return found == parents_.end() ? std::vector<std::string>{} : found->second;
}

bool Schema::matches(const AttributeRule& rule, const std::string& value) const {
  if (rule.validator == nullptr) return true;
  try {
    rule.validator->validate(utf16(value).c_str(), nullptr, xerces::XMLPlatformUtils::fgMemoryManager);
    return true;
  } catch (const xerces::XMLException&) {
    return false;
  }
}

void explain(const Document& document, const Schema& schema, Problems& problems) {
  // Without a root, reading has ended at the attributes of the first element: too many were wrong.
  const bool has_root = !document.root.name.empty();
  if (has_root) Explainer(schema, problems).root(document.root);
  if (!problems.empty()) return;
  for (const SchemaError& error : document.schema_errors) problems.add(error.where, error.sentence);
}

}  // namespace damaris::config
