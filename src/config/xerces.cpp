#include "config/xerces.hpp"

#include <xercesc/util/PlatformUtils.hpp>
#include <xercesc/util/TransService.hpp>

#include <mutex>

namespace damaris::config {
namespace {

// Xerces' user count is not thread-safe.
std::mutex use_mutex;

}  // namespace

XercesUse::XercesUse() {
  const std::lock_guard<std::mutex> lock(use_mutex);
  xerces::XMLPlatformUtils::Initialize();
}

XercesUse::~XercesUse() {
  const std::lock_guard<std::mutex> lock(use_mutex);
  xerces::XMLPlatformUtils::Terminate();
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
