// Which file a descriptor belongs to: another part of the process may close it, and reuse its number for a file of its own.
// Used by: files that stay open between two calls of the program or of plugins, on the thread that has them.
// Before it: an open descriptor. After it: the code that writes to it, or closes it.
#pragma once

#include <sys/stat.h>

namespace damaris {

class FileIdentity {
 public:
  FileIdentity() = default;
  explicit FileIdentity(int descriptor) noexcept { known_ = descriptor >= 0 && ::fstat(descriptor, &facts_) == 0; }
  // Whether `descriptor`, that of the constructor, still belongs to the same file.
  bool is_of(int descriptor) const noexcept {
    struct stat now = {};
    return known_ && ::fstat(descriptor, &now) == 0 && now.st_dev == facts_.st_dev && now.st_ino == facts_.st_ino;
  }

 private:
  struct stat facts_ = {};
  bool known_ = false;
};

}  // namespace damaris
