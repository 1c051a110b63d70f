#include "config/xerces.hpp"

#include <xercesc/sax/SAXException.hpp>
#include <xercesc/util/OutOfMemoryException.hpp>
#include <xercesc/util/PanicHandler.hpp>
#include <xercesc/util/PlatformUtils.hpp>
#include <xercesc/util/TransService.hpp>
#include <xercesc/util/XMLException.hpp>
#include <xercesc/util/XMLUni.hpp>

#include <mutex>
#include <new>

#include "core/base/error.hpp"
#include "core/base/format.hpp"

namespace damaris::config {
namespace {

// Xerces' user count is not thread-safe.
std::mutex use_mutex;

// Its own would end the process. It gives the reason below where an allocation failed, too.
class Panic : public xerces::PanicHandler {
 public:
  void panic(const PanicReasons reason) override {
    if (reason == Panic_AllStaticInitErr) throw std::bad_alloc();
    throw Error(DC_E_INTERNAL, format("the XML parser cannot start: {}", getPanicReasonString(reason)));
  }
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

}  // namespace damaris::config
