// Which file a descriptor belongs to: another part of the process may close it, and reuse its number for a file of its own.
// Used by: files that stay open between two calls of the program or of plugins, on the thread that has them.
// Before it: an open descriptor. After it: the code that writes to it, or closes it.
#pragma once

#include <sys/stat.h>

namespace damaris {

class FileIdentity {
 public:
  FileIdentity() = default;  // of no file
  explicit FileIdentity(const struct stat& facts) noexcept : device_(facts.st_dev), inode_(facts.st_ino), known_(true) {}
  explicit FileIdentity(int descriptor) noexcept {
    struct stat facts = {};
    if (descriptor >= 0 && ::fstat(descriptor, &facts) == 0) *this = FileIdentity(facts);
  }
  // Whether `facts` are of the same file.
  bool is(const struct stat& facts) const noexcept { return known_ && facts.st_dev == device_ && facts.st_ino == inode_; }
  // Whether `descriptor`, that of the constructor, still belongs to it.
  bool is_of(int descriptor) const noexcept {
    struct stat now = {};
    return descriptor >= 0 && ::fstat(descriptor, &now) == 0 && is(now);
  }

 private:
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool known_ = false;
};

}  // namespace damaris
