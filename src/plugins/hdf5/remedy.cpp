#include "remedy.hpp"

#include <cerrno>

#include "core/base/failure.hpp"

namespace damaris::hdf5 {

std::string remedy_for(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free space there";
    case EFBIG:
      return "raise the limit of a file's size (ulimit -f), or write smaller files";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    case ENOENT:
      return "restore the output folder, which existed at start-up";
    case EEXIST:
      return "move that file away, or use exists=\"overwrite\"";
    case EACCES:
    case EPERM:
    case EROFS:
      return "make the output folder writable";
    case kTakenByOther:
      return "have it removed, or choose a basename in a folder of your own";
    case EBADF:
      return "let the program and its plugins close only descriptors that they have opened";
    case kNoRemedy:
      return "nothing of it is stored";
    default:
      return "check that file system";
  }
}

}  // namespace damaris::hdf5
