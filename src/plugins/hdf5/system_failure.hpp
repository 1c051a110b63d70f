// What could not be done, and why, as an exception.
// Used by: the hdf5 plugin and what reads its files, on the server's dispatch thread or in a tool.
// Before it: a call of HDF5 or of the system that failed; failure.hpp has the calls. After it: storage.hpp makes the user's sentence of it.
#pragma once

#include <stdexcept>
#include <string>

namespace damaris::hdf5 {

// In place of an errno, for a sentence that names its remedy itself.
constexpr int kSaysItAll = -1;

// `what()` says what could not be done and why; `system_error()` is the errno behind it, 0 if there is none.
class Failure : public std::runtime_error {
 public:
  Failure(const std::string& sentence, int system_error) : std::runtime_error(sentence), system_error_(system_error) {}
  int system_error() const { return system_error_; }

 private:
  int system_error_;
};

}  // namespace damaris::hdf5
