// A failed system or library call: its text for a user and, for the storage, as an exception: what could not be done, and why.
// Used by: the text by every folder, any thread; Failure by the manifest and the hdf5 plugin, on the server's work thread or in a tool.
// Before it: the failed call. After it: a message; the storage turns a Failure into the user's.
#pragma once

#include <stdexcept>
#include <string>

#include "core/base/own_file.hpp"

namespace damaris {

// The system's error text, and the limit that may have caused it: "File too large (the limit of a file's size, see ulimit -f)".
std::string text_of_errno(int error);

// In place of an errno: the message already contains its remedy.
constexpr int kRemedyIncluded = -1;
// In place of an errno: another user's entry has the name, and only that user, or the folder's owner, can take it away.
constexpr int kOwnedByOther = -2;

// `what()` describes the failure; `system_error()` is the underlying errno, 0 if there is none.
class Failure : public std::runtime_error {
 public:
  Failure(const std::string& sentence, int system_error) : std::runtime_error(sentence), system_error_(system_error) {}
  int system_error() const { return system_error_; }

 private:
  int system_error_;
};

// Throws Failure for a system call that failed with `error`, an errno: "cannot <doing> <object>: <error>".
[[noreturn]] void throw_system_failure(int error, const char* doing, const std::string& object);

// Throws Failure if the reader's constructor could not open the file. Reads errno.
void require_open(const StoredFileReader& file, const std::string& path);

}  // namespace damaris
