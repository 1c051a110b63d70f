// The outcome of an operation, as a value: for expected outcomes, and those that are reported to another process.
// Used by: client and server, on every thread.
// Before it: a callback of a plugin, an iteration, a recovery. After it: a client's mailbox, an Error, an exit status.
#pragma once

#include <damaris/status.h>

#include <string>

namespace damaris {

struct Status {
  // A positive code is no failure, and is reported only with a sentence.
  bool is_notice() const { return code > DC_OK && !message.empty(); }

  int code = DC_OK;     // dc_code
  std::string message;  // a full sentence; "" with DC_OK
};

}  // namespace damaris
