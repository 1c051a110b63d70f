#include "server/plugin_scope.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/format.hpp"
#include "core/base/log.hpp"

namespace damaris::server {
namespace {

constexpr int kLocalScope = RTLD_NOW | RTLD_LOCAL;
// Sanitizers do not support RTLD_DEEPBIND; gcc and clang announce them by different macros.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DAMARIS_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(DAMARIS_SANITIZED)
constexpr int kOwnScope = kLocalScope;
#else
constexpr int kOwnScope = kLocalScope | RTLD_DEEPBIND;
#endif

// The dynamic linker keeps one library of a name. So if the plugin's file names the program's libhdf5 as one that it needs, both use that.
bool needs(const std::string& path, const std::string& library) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {}), end(1, '\0');
  return bytes.find(end + std::filesystem::path(library).filename().string() + end) != std::string::npos;
}

// The program, or a library of it, whose HDF5 the plugin would find before its own; "" if there is none.
std::string other_hdf5(const std::string& path) {
  const void* const open = ::dlsym(RTLD_DEFAULT, "H5open");
  Dl_info info = {};
  if (open == nullptr || ::dladdr(open, &info) == 0 || needs(path, info.dli_fname)) return "";
  return info.dli_fname;
}

// A recorder in this process sees no call of a library that has a scope of its own.
void tell_recorder(const std::string& path) {
  using Tell = void (*)(const char*);
  const auto tell = reinterpret_cast<Tell>(::dlsym(RTLD_DEFAULT, "damaris_recorder_unobserved"));
  if (tell != nullptr) tell(format("calls of {}, which has a symbol scope of its own", path).c_str());
}

}  // namespace

int scope_of(const model::Plugin& plugin, const std::string& path) {
  // Files of several servers are written with the program's MPI, which a library with a scope of its own may not find: OpenMPI's handles
  // are addresses of variables, which copy relocations may have moved into the program.
  if (plugin.library != "damaris_hdf5.so" || model::calls_mpi(plugin)) return kLocalScope;
  const std::string other = other_hdf5(path);
  if (other.empty()) return kLocalScope;
  log_line(LogLevel::info, format("{} has a symbol scope of its own, as the program holds another HDF5, {}", path, other));
  tell_recorder(path);
  return kOwnScope;
}

}  // namespace damaris::server
