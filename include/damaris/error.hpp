// The exception of Damaris in C++: a code for the program and a full sentence for its user.
// Used by: C++ simulations (thrown by damaris.hpp) and every folder of the library, on every thread.
// Before it: a failed call. After it: the program's handler; inside the library the C guard, the server loop, the plugin host.
#pragma once

#include <damaris/status.h>

#include <exception>
#include <string>
#include <utility>

namespace damaris {

// The exception that a failed call throws. Only negative codes are thrown, notices never.
// The members are part of the binary interface: a program and the library may be built from different versions of this header.
class Error : public std::exception {
 public:
  // `code` is negative; `sentence` gives place, cause and remedy, and is moved in. Throws nothing of its own.
  Error(dc_code code, std::string sentence) : code_(code), sentence_(std::move(sentence)) {}
  // Returns a negative dc_code of status.h, or another negative number that a user's plugin returned.
  dc_code code() const noexcept { return code_; }
  // Returns place, cause and remedy; valid as long as this object.
  const std::string& sentence() const noexcept { return sentence_; }
  // Returns sentence() as a C string; valid as long as this object.
  const char* what() const noexcept override { return sentence_.c_str(); }

 private:
  dc_code code_;
  std::string sentence_;
};

}  // namespace damaris
