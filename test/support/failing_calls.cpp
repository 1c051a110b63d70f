#include "support/failing_calls.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>

namespace {

using damaris::test::FailingCalls;

bool fails(int descriptor, int error) noexcept {
  char link[32], path[PATH_MAX];
  const std::string& under = FailingCalls::under;
  if (error == 0 || under.empty()) return false;
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = ::readlink(link, path, sizeof path);
  return length > static_cast<ssize_t>(under.size()) && under.compare(0, under.size(), path, under.size()) == 0;
}

}  // namespace

extern "C" int fstat(int descriptor, struct stat* facts) noexcept {
  static const auto real = reinterpret_cast<int (*)(int, struct stat*)>(::dlsym(RTLD_NEXT, "fstat"));
  if (fails(descriptor, FailingCalls::fstat_error)) return errno = FailingCalls::fstat_error, -1;
  return real(descriptor, facts);
}

// All that the code under test passes is an int or a pointer.
extern "C" int fcntl(int descriptor, int command, ...) {
  static const auto real = reinterpret_cast<int (*)(int, int, ...)>(::dlsym(RTLD_NEXT, "fcntl"));
  std::va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  const bool locks = command == F_OFD_SETLK;
  if (locks && fails(descriptor, FailingCalls::locking_error)) return errno = FailingCalls::locking_error, -1;
  return real(descriptor, command, argument);
}
