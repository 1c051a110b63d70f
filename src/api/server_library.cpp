#include "api/server_library.hpp"

#include <damaris/version.h>
#include <dlfcn.h>

#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/base/format.hpp"

namespace damaris::api {
namespace {

const server::Library* load() {
  const std::string folder = library_folder();
  const std::string path = (folder.empty() ? "" : folder + "/") + format("libdamaris_server.so.{}", DAMARIS_VERSION_MAJOR);
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    throw Error(DC_E_CONFIG,
                format("cannot load {}: {}; install it beside libdamaris.so", path, why == nullptr ? "it is missing" : why));
  }
  using Entry = decltype(&damaris_server_library);
  const auto entry = reinterpret_cast<Entry>(::dlsym(library, "damaris_server_library"));
  const server::Library* found = entry == nullptr ? nullptr : entry(DAMARIS_VERSION);
  if (found == nullptr)
    throw Error(DC_E_VERSION,
                format("{} is not of version {}, as libdamaris is; install both from one build", path, DAMARIS_VERSION));
  return found;
}

}  // namespace

const server::Library& server_library() {
  static const server::Library* const library = load();
  return *library;
}

}  // namespace damaris::api
