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
#include <xercesc/sax/SAXParseException.hpp>
#include <xercesc/sax2/DefaultHandler.hpp>
#include <xercesc/sax2/SAX2XMLReader.hpp>
#include <xercesc/sax2/XMLReaderFactory.hpp>
#include <xercesc/util/XMLUni.hpp>
#include <xercesc/validators/datatype/DatatypeValidator.hpp>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "embedded/damaris_xsd.hpp"

namespace damaris::config {
namespace {

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

}  // namespace

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

void Schema::DeleteGrammars::operator()(xerces::XMLGrammarPool* grammars) const {
  const XercesRelease release;
  delete grammars;
}

Schema::Schema() : grammars_(new xerces::XMLGrammarPoolImpl(xerces::XMLPlatformUtils::fgMemoryManager)) {
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

}  // namespace damaris::config
