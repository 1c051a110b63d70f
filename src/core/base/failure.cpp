#include "core/base/failure.hpp"

#include <cerrno>
#include <cstring>

namespace damaris {

void throw_system_failure(int error, const char* doing, const std::string& object) {
  throw Failure(std::string("cannot ") + doing + (object.empty() ? "" : " " + object) + ": " + std::strerror(error), error);
}

void require_open(const StoredFileReader& file, const std::string& path) {
  if (file.is_open()) return;
  if (errno == EINVAL) throw Failure(path + " is not a regular file", EINVAL);
  throw_system_failure(errno, "open", path);
}

}  // namespace damaris
