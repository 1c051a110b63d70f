#include "core/base/module_path.hpp"

#include <dlfcn.h>

#include <filesystem>

namespace damaris {

std::string library_folder() {
  Dl_info info = {};
  if (::dladdr(reinterpret_cast<const void*>(&library_folder), &info) == 0 || info.dli_fname == nullptr) return "";
  return std::filesystem::absolute(info.dli_fname).lexically_normal().parent_path().string();
}

}  // namespace damaris
