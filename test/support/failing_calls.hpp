// The calls fstat and fcntl of a program in which a test lets them fail on files below a folder, as those of a network file system do that is
// away for a while: what the code under test calls is looked for in the program first.
// Used by: tests of files that stay open between two calls, in a program that has failing_calls.cpp.
// Before it: the errno that a test sets. After it: the library's calls.
#pragma once

#include <string>

namespace damaris::test {

struct FailingCalls {
  static inline std::string under;  // "": no call fails
  static inline int fstat_error = 0, locking_error = 0;
};

// While it lives, calls on open files below `folder` fail.
class FailsOn {
 public:
  explicit FailsOn(const std::string& folder, int fstat_error, int locking_error = 0) {
    FailingCalls::under = folder + "/";
    FailingCalls::fstat_error = fstat_error;
    FailingCalls::locking_error = locking_error;
  }
  ~FailsOn() { FailingCalls::under.clear(); }
  FailsOn(const FailsOn&) = delete;
  FailsOn& operator=(const FailsOn&) = delete;
};

}  // namespace damaris::test
