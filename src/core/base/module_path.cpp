#include "core/base/module_path.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace damaris {
namespace {

// The kernel reports an absolute path; the dynamic linker's may be relative to the working folder at load time.
std::string mapped_at(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    const std::size_t path = line.find('/');
    if (path == std::string::npos || std::sscanf(line.c_str(), "%zx-%zx", &begin, &end) != 2) continue;
    if (wanted >= begin && wanted < end) return line.substr(path);
  }
  return "";
}

}  // namespace

std::string library_folder() {
  const void* here = reinterpret_cast<const void*>(&library_folder);
  Dl_info info = {};
  if (::dladdr(here, &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname[0] == '/' ? info.dli_fname : mapped_at(here);
  return std::filesystem::path(path).lexically_normal().parent_path().string();
}

}  // namespace damaris
