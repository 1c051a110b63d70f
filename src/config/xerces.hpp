// Initialization of Xerces-C, and conversion between its UTF-16 and our UTF-8.
// Used by: xml_reader, schema and explain; one thread, at start-up.
// Before it: nothing. After it: the parser.
#pragma once

#include <xercesc/util/XercesDefs.hpp>

#include <string>

namespace damaris::config {

namespace xerces = XERCES_CPP_NAMESPACE;

// Xerces is initialized while an object of this class exists. It counts its users, so an application's own use is not disturbed.
class XercesUse {
 public:
  XercesUse();
  ~XercesUse();
  XercesUse(const XercesUse&) = delete;
  XercesUse& operator=(const XercesUse&) = delete;
};

// Throws again, from a catch clause, what came out of reading the configuration `path`: exceptions of Xerces are of types of their own,
// which no other code knows, and end here. Throws std::bad_alloc when memory is short, Error(DC_E_INTERNAL) for a fault of the parser,
// and any other exception as it is.
[[noreturn]] void throw_without_xerces(const std::string& path);

std::string utf8(const XMLCh* text);
std::basic_string<XMLCh> utf16(const std::string& text);

}  // namespace damaris::config
