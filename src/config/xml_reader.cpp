#include "config/xml_reader.hpp"

#include <xercesc/framework/MemBufInputSource.hpp>
#include <xercesc/sax/Locator.hpp>
#include <xercesc/sax/SAXParseException.hpp>
#include <xercesc/sax2/Attributes.hpp>
#include <xercesc/sax2/DefaultHandler.hpp>
#include <xercesc/sax2/SAX2XMLReader.hpp>
#include <xercesc/sax2/XMLReaderFactory.hpp>
#include <xercesc/util/SecurityManager.hpp>
#include <xercesc/util/XMLUni.hpp>

#include <algorithm>
#include <memory>

#include "config/positions.hpp"
#include "config/xerces.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"

namespace damaris::config {
namespace {

constexpr std::size_t kLargestText = 64u << 20;
constexpr std::size_t kMaxDepth = 64;  // of nested elements
constexpr char kInstanceSpace[] = "http://www.w3.org/2001/XMLSchema-instance";

constexpr char kNoDoctype[] =
    "a document type (<!DOCTYPE ...>) is refused, as it could declare entities; remove it: the schema is built in";

// Thrown to leave the parser; Problems holds the cause.
struct StopReading {};

class Handler : public xerces::DefaultHandler {
 public:
  Handler(const std::string& text, Document& document, Problems& problems)
      : positions_(text), document_(document), problems_(problems) {}

  // ContentHandler
  void setDocumentLocator(const xerces::Locator* const locator) override { locator_ = locator; }
  void startElement(const XMLCh* const uri, const XMLCh* const, const XMLCh* const name,
                    const xerces::Attributes& attributes) override;
  void endElement(const XMLCh* const, const XMLCh* const, const XMLCh* const) override { open_.pop_back(); }

  // LexicalHandler: a second check, after check_text.
  void startDTD(const XMLCh* const, const XMLCh* const, const XMLCh* const) override { stop(position(), kNoDoctype); }

  // EntityResolver: nothing outside the text is ever read, neither files nor the network.
  xerces::InputSource* resolveEntity(const XMLCh* const, const XMLCh* const system) override {
    stop(position(), format("the external entity '{}' is refused; a configuration is one file", utf8(system)));
  }

  // ErrorHandler
  void warning(const xerces::SAXParseException&) override {}
  void error(const xerces::SAXParseException& wrong) override;
  void fatalError(const xerces::SAXParseException& wrong) override;

 private:
  Location position() const {
    if (locator_ == nullptr) return {1, 1};
    return {static_cast<int>(locator_->getLineNumber()), static_cast<int>(locator_->getColumnNumber())};
  }
  [[noreturn]] void stop(Location where, std::string sentence) {
    problems_.add(where, std::move(sentence));
    throw StopReading{};
  }

  Positions positions_;
  Document& document_;
  Problems& problems_;
  const xerces::Locator* locator_ = nullptr;
  std::vector<Element*> open_;
};

void Handler::startElement(const XMLCh* const uri, const XMLCh* const, const XMLCh* const name,
                           const xerces::Attributes& attributes) {
  const std::size_t tag = positions_.tag(position());
  Element element;
  element.name = utf8(name);
  element.space = utf8(uri);
  element.where = positions_.location(tag);
  if (open_.size() >= kMaxDepth) stop(element.where, format("elements are nested deeper than {}", kMaxDepth));
  for (XMLSize_t i = 0; i < attributes.getLength(); ++i) {
    if (utf8(attributes.getURI(i)) == kInstanceSpace) continue;  // a hint for editors
    Attribute attribute;
    attribute.name = utf8(attributes.getQName(i));
    attribute.value = utf8(attributes.getValue(i));
    positions_.locate(tag, attribute);
    element.attributes.push_back(std::move(attribute));
  }
  // Pointers stay valid: a parent gets no further child while one is open.
  Element& place = open_.empty() ? document_.root : open_.back()->children.emplace_back();
  place = std::move(element);
  open_.push_back(&place);
}

void Handler::error(const xerces::SAXParseException& wrong) {
  const Location where{static_cast<int>(wrong.getLineNumber()), static_cast<int>(wrong.getColumnNumber())};
  // The parser does not report text where the schema allows none; take it from the raw text before the error.
  const std::size_t text = positions_.text_before(where);
  if (text != std::string::npos && !open_.empty() && open_.back()->text.empty()) {
    open_.back()->text = positions_.word(text);
    open_.back()->text_where = positions_.location(text);
  }
  document_.schema_errors.push_back({where, utf8(wrong.getMessage())});
  if (document_.schema_errors.size() > 1000) throw StopReading{};
}

void Handler::fatalError(const xerces::SAXParseException& wrong) {
  std::string sentence = "this is not well-formed XML: " + utf8(wrong.getMessage());
  if (open_.empty() && !document_.root.name.empty()) sentence += format("; nothing may follow </{}>", document_.root.name);
  if (!open_.empty())
    sentence += format("; the innermost open element is <{}> of line {}", open_.back()->name, open_.back()->where.line);
  // An error while decoding the first line has line number 0.
  stop({std::max(1, static_cast<int>(wrong.getLineNumber())), std::max(1, static_cast<int>(wrong.getColumnNumber()))}, sentence);
}

// Disables everything that would make the parser read outside the text or load another schema.
void configure(xerces::SAX2XMLReader& reader, xerces::SecurityManager& security) {
  using xerces::XMLUni;
  reader.setFeature(XMLUni::fgSAX2CoreNameSpaces, true);
  reader.setFeature(XMLUni::fgSAX2CoreValidation, true);
  reader.setFeature(XMLUni::fgXercesDynamic, false);
  reader.setFeature(XMLUni::fgXercesSchema, true);
  reader.setFeature(XMLUni::fgXercesUseCachedGrammarInParse, true);
  reader.setFeature(XMLUni::fgXercesLoadSchema, false);
  reader.setFeature(XMLUni::fgXercesLoadExternalDTD, false);
  reader.setFeature(XMLUni::fgXercesDisableDefaultEntityResolution, true);
  security.setEntityExpansionLimit(100);
  reader.setProperty(XMLUni::fgXercesSecurityManager, &security);
}

bool declares_encoding(const std::string& text) {
  const std::string head = text.substr(0, text.find("?>"));
  return head.compare(0, 5, "<?xml") == 0 && head.find("encoding") != std::string::npos;
}

// The offset of a document type, or npos. It can only precede the first element, after comments and processing instructions.
std::size_t find_doctype(const std::string& text) {
  std::size_t at = text.find('<');
  while (at != std::string::npos) {
    if (text.compare(at, 9, "<!DOCTYPE") == 0) return at;
    const bool comment = text.compare(at, 4, "<!--") == 0;
    if (!comment && text.compare(at, 2, "<?") != 0) break;
    const std::size_t end = text.find(comment ? "-->" : "?>", at + 2);
    at = end == std::string::npos ? end : text.find('<', end);
  }
  return std::string::npos;
}

// Errors that the parser would detect too, but with less helpful messages.
void check_text(const std::string& text, Problems& problems) {
  if (text.size() > kLargestText) problems.add({1, 1}, "it is larger than 64 MiB, the most a configuration may have");
  if (text.find('\0') != std::string::npos)
    problems.add({1, 1}, "it contains zero bytes, so it is not UTF-8 text; save it as UTF-8");
  problems.throw_if_any();
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos)
    problems.add({1, 1}, "it is empty; a configuration holds one <simulation> element");
  else if (text[first] != '<')
    problems.add({1, 1}, "this is not XML: it does not start with '<'; a configuration holds one <simulation> element");
  const Positions positions(text);
  if (const std::size_t doctype = find_doctype(text); doctype != std::string::npos)
    problems.add(positions.location(doctype), kNoDoctype);
  const std::size_t wrong = positions.not_utf8();
  if (wrong != std::string::npos && !declares_encoding(text))
    problems.add(positions.location(wrong),
                 "this byte is not UTF-8; save the file as UTF-8, or declare its encoding in the first line: <?xml version=\"1.0\" "
                 "encoding=\"...\"?>");
  problems.throw_if_any();
}

}  // namespace

Document read_xml(const std::string& given, const Schema& schema, Problems& problems) {
  const std::string text = given.compare(0, 3, "\xef\xbb\xbf") == 0 ? given.substr(3) : given;
  check_text(text, problems);
  Document document;
  Handler handler(text, document, problems);
  xerces::SecurityManager security;
  const std::unique_ptr<xerces::SAX2XMLReader> reader(
      xerces::XMLReaderFactory::createXMLReader(xerces::XMLPlatformUtils::fgMemoryManager, schema.grammars()));
  configure(*reader, security);
  reader->setContentHandler(&handler);
  reader->setLexicalHandler(&handler);
  reader->setEntityResolver(&handler);
  reader->setErrorHandler(&handler);
  const xerces::MemBufInputSource source(reinterpret_cast<const XMLByte*>(text.data()), text.size(), "configuration");
  try {
    reader->parse(source);
  } catch (const StopReading&) {
  } catch (const xerces::XMLException& wrong) {
    problems.add({1, 1}, "this cannot be read as XML: " + utf8(wrong.getMessage()));
  }
  if (document.schema_errors.empty() || !problems.empty()) problems.throw_if_any();
  return document;
}

}  // namespace damaris::config
