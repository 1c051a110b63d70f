// The one exception type inside Damaris: a code for the program and a full sentence for the person.
// Used by: every folder, on every thread; caught only by the C guard, the server loop and the plugin host.
// Before it: a broken contract or a failed system call. After it: dc_last_error, the log, a client's mailbox.
#pragma once

#include <damaris/status.h>

#include <exception>
#include <string>

namespace damaris {

class Error : public std::exception {
 public:
  Error(dc_code code, std::string sentence) : code_(code), sentence_(std::move(sentence)) {}
  dc_code code() const noexcept { return code_; }
  const std::string& sentence() const noexcept { return sentence_; }
  const char* what() const noexcept override { return sentence_.c_str(); }

 private:
  dc_code code_;
  std::string sentence_;
};

// A short fixed text for a code. Returns a static string, also for a number that is no code.
const char* code_text(int code) noexcept;

// An Error for a failed system call: "<what>: <strerror(errno)>; <remedy>".
Error system_error(dc_code code, const std::string& what, int errno_value, const std::string& remedy);

}  // namespace damaris
