// The text of a system error for a user.
// Used by: every folder and the plugins, any thread.
// Before it: a failed system call. After it: a message.
#pragma once

#include <string>

namespace damaris {

// The system's error text, and the limit that may have caused it: "File too large (the limit of a file's size, see ulimit -f)".
std::string text_of_errno(int error);

}  // namespace damaris
