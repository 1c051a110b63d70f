// The exception of Damaris in C++: a code for the program and a full sentence for the person.
// Used by: C++ simulations (thrown by damaris.hpp) and every folder of the library, on every thread.
// Before it: a failed call. After it: the program's handler; inside the library the C guard, the server loop, the plugin host.
#pragma once

#include <damaris/status.h>

#include <exception>
#include <string>
#include <utility>

namespace damaris {

// What a failed call throws; only negative codes are thrown, notices never are. Copies and moves; no thread shares it.
// The members are part of the binary interface: a program and the library may be built from different versions of this header.
class Error : public std::exception {
 public:
  // `code` negative; `sentence` for a person, complete; taken over.
  Error(dc_code code, std::string sentence) : code_(code), sentence_(std::move(sentence)) {}
  // A dc_code of status.h, negative; from a plugin of the user it may be another negative number.
  dc_code code() const noexcept { return code_; }
  // Place, cause and remedy; valid as long as this object.
  const std::string& sentence() const noexcept { return sentence_; }
  // The sentence; valid as long as this object.
  const char* what() const noexcept override { return sentence_.c_str(); }

 private:
  dc_code code_;
  std::string sentence_;
};

}  // namespace damaris
