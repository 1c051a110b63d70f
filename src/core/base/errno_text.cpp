#include "core/base/errno_text.hpp"

#include <cerrno>
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

}  // namespace damaris
