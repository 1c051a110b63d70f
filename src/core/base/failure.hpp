// A failed call of the system or of a library, as an exception: what could not be done, and why.
// Used by: the manifest and the hdf5 plugin, on the server's dispatch thread or in a tool.
// Before it: the failed call. After it: the storage makes the user's sentence of it.
#pragma once

#include <stdexcept>
#include <string>

#include "core/base/own_file.hpp"

namespace damaris {

// In place of an errno, for a sentence that contains its remedy.
constexpr int kNoRemedy = -1;

// `what()` says what could not be done and why; `system_error()` is the errno behind it, 0 if there is none.
class Failure : public std::runtime_error {
 public:
  Failure(const std::string& sentence, int system_error) : std::runtime_error(sentence), system_error_(system_error) {}
  int system_error() const { return system_error_; }

 private:
  int system_error_;
};

// Throws Failure for a system call that failed with `error`, an errno: "cannot <doing> <object>: <error>".
[[noreturn]] void throw_system_failure(int error, const char* doing, const std::string& object);

// Throws Failure, errno saying why, for a file that the constructor could not open.
void require_open(const StoredFileReader& file, const std::string& path);

}  // namespace damaris
