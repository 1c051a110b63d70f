// Errors inside Damaris: the public exception type, and how to make one from a code or a failed system call.
// Used by: every folder, on every thread; those that no caller can handle end at the C guard, the start under MPI, the server loop, the
// plugin host or a program's main.
// Before it: a broken contract or a failed system call. After it: dc_last_error, the log, a client's mailbox.
#pragma once

#include <damaris/error.hpp>

#include <string>

namespace damaris {

// A short fixed text for a code. Returns a static string, also for a number that is no code.
const char* code_text(int code) noexcept;

// An Error for a failed system call: "<what>: <strerror(errno)>; <remedy>".
Error system_error(dc_code code, const std::string& what, int errno_value, const std::string& remedy);

}  // namespace damaris
