#include "core/base/failure.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>

namespace damaris {

std::string text_of_errno(int error) {
  const std::string text = std::generic_category().message(error);
  switch (error) {
    case EFBIG:
      return text + " (the limit of a file's size, see ulimit -f)";
    case EMFILE:
      return text + " (the limit of a process's open files, see ulimit -n)";
    case ENFILE:
      return text + " (the limit of the system's open files)";
    default:
      return text;
  }
}

void throw_system_failure(int error, const char* doing, const std::string& object) {
  throw Failure(std::string("cannot ") + doing + (object.empty() ? "" : " " + object) + ": " + std::strerror(error), error);
}

void require_open(const StoredFileReader& file, const std::string& path) {
  if (file.is_open()) return;
  if (errno == EINVAL) throw Failure(path + " is not a regular file", EINVAL);
  throw_system_failure(errno, "open", path);
}

}  // namespace damaris
