#include "config/xerces.hpp"

#include <xercesc/framework/MemoryManager.hpp>
#include <xercesc/sax/SAXException.hpp>
#include <xercesc/util/OutOfMemoryException.hpp>
#include <xercesc/util/PanicHandler.hpp>
#include <xercesc/util/PlatformUtils.hpp>
#include <xercesc/util/TransService.hpp>
#include <xercesc/util/XMLException.hpp>
#include <xercesc/util/XMLUni.hpp>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>
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

Error out_of_memory(const std::string& path) {
  return Error(
      DC_E_MEMORY,
      format("out of memory while the configuration {} was read; give the process more (ulimit -v, the job's memory)", path));
}

// For Xerces' destructors, which allocate and must not throw (ContentSpecNode): little, and only what is given back together.
std::atomic<int> releasing = 0;
alignas(std::max_align_t) std::byte reserve[std::size_t{16} << 10];
std::atomic<std::size_t> reserved = 0;

void* from_reserve(std::size_t size) {
  const std::size_t rounded = (size + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);
  if (releasing == 0 || rounded > sizeof reserve) return nullptr;
  const std::size_t at = reserved.fetch_add(rounded);
  return at + rounded <= sizeof reserve ? reserve + at : nullptr;
}

// Xerces 3.2 frees members that it has not set yet where an allocation fails in a constructor (DFAContentModel): here they are null.
class ZeroedMemory : public xerces::MemoryManager {
 public:
  MemoryManager* getExceptionMemoryManager() override { return this; }
  void* allocate(XMLSize_t size) override {
    void* memory = ::operator new(size, std::nothrow);
    if (memory == nullptr) memory = from_reserve(size);
    if (memory == nullptr) throw xerces::OutOfMemoryException();
    return std::memset(memory, 0, size);
  }
  void deallocate(void* memory) override {
    const bool is_reserve = std::less_equal<>()(static_cast<void*>(reserve), memory) &&
                            std::less<>()(memory, static_cast<void*>(reserve + sizeof reserve));
    if (!is_reserve) ::operator delete(memory);
  }
};

}  // namespace

// A start that fails leaves Xerces half made and counted as made, so it is not tried again.
XercesUse::XercesUse() {
  static Panic panic;
  static ZeroedMemory zeroed_memory;
  static bool has_failed = false;
  const std::lock_guard<std::mutex> lock(use_mutex);
  if (has_failed)
    throw Error(
        DC_E_MEMORY,
        "the XML parser could not be started before in this process, for want of memory; start the process again with more");
  has_failed = true;
  xerces::XMLPlatformUtils::Initialize(xerces::XMLUni::fgXercescDefaultLocale, nullptr, &panic, &zeroed_memory);
  has_failed = false;
}

XercesUse::~XercesUse() {
  const std::lock_guard<std::mutex> lock(use_mutex);
  const XercesRelease release;
  xerces::XMLPlatformUtils::Terminate();
}

XercesRelease::XercesRelease() { ++releasing; }

XercesRelease::~XercesRelease() {
  if (--releasing == 0) reserved = 0;
}

void throw_without_xerces(const std::string& path) try { throw; } catch (const xerces::OutOfMemoryException&) {
  throw out_of_memory(path);
} catch (const std::bad_alloc&) {
  throw out_of_memory(path);
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
