// Which file a descriptor belongs to: another part of the process may close it, and reuse its number for a file of its own.
// Used by: files that stay open between two calls of the program or of plugins, on the thread that has them.
// Before it: an open descriptor. After it: the code that writes to it, or closes it.
#pragma once

#include <sys/stat.h>

#include <cerrno>

namespace damaris {

// A file system that fails for a while says nothing about the descriptor: a file that is taken for lost stays open, and keeps its locks.
enum class Holder { ours, other, unknown };

class FileIdentity {
 public:
  FileIdentity() = default;  // of no file
  explicit FileIdentity(const struct stat& facts) noexcept : device_(facts.st_dev), inode_(facts.st_ino), known_(true) {}
  explicit FileIdentity(int descriptor) noexcept {
    struct stat facts = {};
    if (descriptor >= 0 && ::fstat(descriptor, &facts) == 0)
      *this = FileIdentity(facts);
    else if (descriptor >= 0)
      error_ = errno;
  }
  // Whether `facts` are of the same file.
  bool is(const struct stat& facts) const noexcept { return known_ && facts.st_dev == device_ && facts.st_ino == inode_; }
  // Whether `descriptor`, that of the constructor, still belongs to it, or to no file or another one. If the file system does not say so, now
  // or in the constructor, errno says why. `facts` are those of a descriptor that is ours.
  Holder holder_of(int descriptor, struct stat& facts) const noexcept {
    if (descriptor < 0 || (!known_ && error_ == 0)) return Holder::other;
    if (::fstat(descriptor, &facts) != 0) return errno == EBADF ? Holder::other : Holder::unknown;
    if (known_) return is(facts) ? Holder::ours : Holder::other;
    errno = error_;
    return error_ == EBADF ? Holder::other : Holder::unknown;
  }
  Holder holder_of(int descriptor) const noexcept {
    struct stat facts = {};
    return holder_of(descriptor, facts);
  }
  // What is not known to be lost is ours, as a program that closes foreign descriptors is rare: it is to be closed at the end.
  bool has_lost(int descriptor) const noexcept { return holder_of(descriptor) == Holder::other; }

 private:
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool known_ = false;
  int error_ = 0;  // why it is not known
};

}  // namespace damaris
