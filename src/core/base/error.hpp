// Errors inside Damaris: the public exception type, its construction from a failed system call, and a status value.
// Used by: every folder, on every thread; those that no caller can handle end at the C guard, the start under MPI, the server loop, the
// plugin host or a program's main.
// Before it: a broken contract or a failed system call. After it: dc_last_error, the log, a client's mailbox.
#pragma once

#include <damaris/status.h>
#include <damaris/error.hpp>

#include <string>

namespace damaris {

// A short fixed text for a code. Returns a static string, also for unknown codes.
const char* code_text(int code) noexcept;

// The outcome of an operation as a value: for expected outcomes, and for those that are reported to another process.
struct Status {
  // A positive code is not a failure, and is reported only if it comes with a message.
  bool is_notice() const { return code > DC_OK && !message.empty(); }

  int code = DC_OK;     // dc_code
  std::string message;  // a full sentence; "" with DC_OK
};

// The exception that is being handled, as a Status. Needs no memory for an exception about its lack.
Status thrown_status() noexcept;

// What `work` has thrown; DC_OK if it returned. The message is "" if there is no memory for it.
template <class Work>
Status outcome_of(Work&& work) noexcept {
  try {
    work();
    return {};
  } catch (...) {
    return thrown_status();
  }
}

// An Error for a failed system call: "<what>: <strerror(errno)>; <remedy>".
Error system_error(dc_code code, const std::string& what, int errno_value, const std::string& remedy);

}  // namespace damaris
