#include "recorder/real.hpp"

#include <dlfcn.h>

namespace damaris::recorder {
namespace {

// In the library that has `address`, and in those that it needs.
void* find_around(const void* address, const char* name) {
  Dl_info info = {};
  if (address == nullptr || ::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return nullptr;
  void* const library = ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* const found = ::dlsym(library, name);
  ::dlclose(library);
  return found;
}

}  // namespace

void* find_behind(const char* name, const void* wrapper, const void* caller, bool of_caller) {
  void* const around = of_caller ? find_around(caller, name) : nullptr;
  if (around != nullptr && around != wrapper) return around;
  if (void* const next = ::dlsym(RTLD_NEXT, name); next != nullptr) return next;
  void* const found = of_caller ? nullptr : find_around(caller, name);
  return found == wrapper ? nullptr : found;
}

void* find_beside(const void* function, const char* name) { return find_around(function, name); }

}  // namespace damaris::recorder
