// A limit of the size of files for the calling process, while it lives; a call that meets it fails with EFBIG.
// Used by: unit tests of what writes files.
// Before it: the file as it is. After it: the limit that was.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace damaris::test {

// No file of this process may grow beyond so many bytes.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_ = {};
  void (*handler_)(int);
};

}  // namespace damaris::test
