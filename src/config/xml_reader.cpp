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
#include <cstddef>
#include <memory>
#include <string_view>

#include "config/schema.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"

namespace damaris::config {
namespace {

constexpr std::size_t kStride = 256;

bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Maps the parser's position (just after a start tag) to the locations that messages name: the '<' and each attribute in the raw text.
class Positions {
 public:
  // `text` must outlive this object. Columns count UTF-16 units, as the parser and editors do, or bytes if the text is not UTF-8.
  explicit Positions(std::string_view text);

  // The '<' of the tag that ends just before `end`.
  std::size_t tag(Location end) const;
  // Line and column of `offset`.
  Location location(std::size_t offset) const;
  // Sets the locations, `given` and `plain` of `attribute` in the tag that starts at `tag`.
  void locate(std::size_t tag, Attribute& attribute) const;
  // The start of the text between two tags that ends just before `end`, or npos if there are only blanks.
  std::size_t text_before(Location end) const;
  // From `offset` to the next blank or tag, at most 40 bytes.
  std::string word(std::size_t offset) const;
  // The first byte that is not UTF-8, or npos.
  std::size_t not_utf8() const noexcept { return not_utf8_; }

 private:
  std::size_t offset(Location where) const;
  std::size_t units(char c) const;  // by which a byte advances the column: 0 for a UTF-8 continuation byte
  std::size_t units_before(std::size_t offset) const;

  std::string_view text_;
  std::size_t not_utf8_;
  std::vector<std::size_t> lines_;  // offset of the first byte of each line
  std::vector<std::size_t> marks_;  // units before every kStride-th byte: a file may be one line of megabytes
};

Positions::Positions(std::string_view text) : text_(text), not_utf8_(find_not_utf8(text)), lines_{0} {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i % kStride == 0) marks_.push_back(sum);
    sum += units(text[i]);
    const bool lone_return = text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n');
    if (text[i] == '\n' || lone_return) lines_.push_back(i + 1);
  }
  marks_.push_back(sum);
}

std::size_t Positions::units(char c) const {
  if (not_utf8_ != std::string_view::npos) return 1;
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0xf0 ? 2 : (byte & 0xc0) != 0x80 ? 1 : 0;
}

std::size_t Positions::units_before(std::size_t offset) const {
  std::size_t sum = marks_[offset / kStride];
  for (std::size_t at = offset / kStride * kStride; at < offset; ++at) sum += units(text_[at]);
  return sum;
}

std::size_t Positions::offset(Location where) const {
  const std::size_t line = static_cast<std::size_t>(std::max(where.line, 1)) - 1;
  if (line >= lines_.size()) return text_.size();
  const std::size_t begin = lines_[line], end = line + 1 < lines_.size() ? lines_[line + 1] : text_.size();
  const std::size_t wanted = units_before(begin) + static_cast<std::size_t>(std::max(where.column, 1)) - 1;
  const auto mark = std::upper_bound(marks_.begin(), marks_.end() - 1, wanted) - marks_.begin();
  std::size_t at = std::max(begin, mark == 0 ? 0 : static_cast<std::size_t>(mark - 1) * kStride);
  for (std::size_t sum = units_before(at); at < end && (sum < wanted || units(text_[at]) == 0); ++at) sum += units(text_[at]);
  return at;
}

Location Positions::location(std::size_t offset) const {
  const auto after = std::upper_bound(lines_.begin(), lines_.end(), offset);
  const auto line = after - lines_.begin();
  return {static_cast<int>(line),
          static_cast<int>(units_before(offset) - units_before(lines_[static_cast<std::size_t>(line) - 1])) + 1};
}

std::size_t Positions::tag(Location end) const {
  // An attribute value may hold '>', but never '<'.
  const std::size_t at = offset(end);
  const std::size_t found = at == 0 ? std::string_view::npos : text_.rfind('<', at - 1);
  return found == std::string_view::npos ? 0 : found;
}

void Positions::locate(std::size_t tag, Attribute& attribute) const {
  attribute.where = attribute.value_where = location(tag);
  attribute.given = attribute.plain = false;
  std::size_t at = tag + 1;
  while (at < text_.size() && !blank(text_[at]) && text_[at] != '>') ++at;
  while (at < text_.size() && text_[at] != '>') {
    while (at < text_.size() && (blank(text_[at]) || text_[at] == '/')) ++at;
    const std::size_t name = at;
    while (at < text_.size() && text_[at] != '=' && text_[at] != '>' && !blank(text_[at])) ++at;
    const std::size_t name_end = at;
    const std::size_t open = text_.find_first_of("\"'", at);
    const std::size_t close = open == std::string_view::npos ? open : text_.find(text_[open], open + 1);
    if (name_end == name || close == std::string_view::npos) return;
    if (text_.substr(name, name_end - name) == attribute.name) {
      attribute.where = location(name);
      attribute.value_where = location(open + 1);
      attribute.given = true;
      attribute.plain = text_.substr(open + 1, close - open - 1).find_first_of("&\n\r") == std::string_view::npos;
      return;
    }
    at = close + 1;
  }
}

std::size_t Positions::text_before(Location end) const {
  const std::size_t stop = offset(end);
  if (stop == 0) return std::string_view::npos;
  std::size_t at = text_.find_last_of("<>", stop - 1);
  at = at == std::string_view::npos ? 0 : at + 1;
  while (at < stop && blank(text_[at])) ++at;
  return at < stop ? at : std::string_view::npos;
}

std::string Positions::word(std::size_t offset) const {
  constexpr std::size_t kLongest = 40;
  std::size_t end = offset;
  while (end < text_.size() && end < offset + kLongest && !blank(text_[end]) && text_[end] != '<') ++end;
  while (end < text_.size() && units(text_[end]) == 0) ++end;
  return std::string(text_.substr(offset, end - offset));
}

constexpr std::size_t kMaxReported = 20;
constexpr std::size_t kLongestSentence = 600;  // a value may be a megabyte long

// Makes one line of it whatever a value contains: each problem is one line, and control sequences from a file must not reach a
// terminal.
std::string one_line(std::string sentence) {
  if (sentence.size() > kLongestSentence) sentence = sentence.substr(0, kLongestSentence) + " ...";
  return without_controls(std::move(sentence));
}

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

const Attribute* Element::find(const std::string& attribute) const {
  for (const Attribute& candidate : attributes)
    if (candidate.name == attribute) return &candidate;
  return nullptr;
}

const std::string& Element::value(const std::string& attribute) const {
  const Attribute* found = find(attribute);
  if (found == nullptr) throw Error(DC_E_INTERNAL, format("the schema lets <{}> pass without its attribute '{}'", name, attribute));
  return found->value;
}

std::string Element::value_or_empty(const std::string& attribute) const {
  const Attribute* found = find(attribute);
  return found == nullptr ? "" : found->value;
}

std::string shortened(const std::string& text) {
  constexpr std::size_t kLongest = 80;
  if (text.size() <= kLongest) return text;
  std::size_t end = kLongest - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // not inside a UTF-8 character
  return text.substr(0, end) + "...";
}

std::string quoted(const Attribute& attribute) { return format("{}=\"{}\"", attribute.name, shortened(attribute.value)); }

Location inside(const Attribute& attribute, std::size_t index) {
  if (!attribute.plain) return attribute.value_where;
  return {attribute.value_where.line, attribute.value_where.column + static_cast<int>(index)};
}

void Problems::add(Location where, std::string sentence) { list_.push_back({where, one_line(std::move(sentence))}); }

void Problems::throw_if_any() {
  if (list_.empty()) return;
  std::stable_sort(list_.begin(), list_.end(), [](const Problem& a, const Problem& b) {
    return a.where.line != b.where.line ? a.where.line < b.where.line : a.where.column < b.where.column;
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(list_.size(), kMaxReported); ++i)
    text += format("{}{}:{}:{}: {}", i == 0 ? "" : "\n", path_, list_[i].where.line, list_[i].where.column, list_[i].sentence);
  if (list_.size() > kMaxReported)
    text += format("\n{}: and {}{} more errors", path_, many() ? "at least " : "", list_.size() - kMaxReported);
  throw Error(DC_E_CONFIG, text);
}

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
