// Which file it is, by the device and the number that the system gives it.
// Used by: who opens a file and later looks whether a name still leads to it.
#pragma once

#include <sys/stat.h>

namespace damaris {

class FileIdentity {
 public:
  FileIdentity() = default;  // of no file
  explicit FileIdentity(const struct stat& facts) noexcept : device_(facts.st_dev), inode_(facts.st_ino) {}
  // Whether `facts` are of the same file.
  bool is(const struct stat& facts) const noexcept { return facts.st_dev == device_ && facts.st_ino == inode_; }

 private:
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace damaris
