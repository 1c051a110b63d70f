// How a piece of work ended, as a value: for outcomes that are expected, and those that another process is to hear of.
// Used by: client and server, on every thread.
// Before it: a callback of a plugin, an iteration, a recovery. After it: a client's mailbox, an Error, an exit status.
#pragma once

#include <damaris/status.h>

#include <string>

namespace damaris {

struct Status {
  // A positive code is no failure, and worth saying only with a sentence.
  bool is_notice() const { return code > DC_OK && !message.empty(); }

  int code = DC_OK;     // dc_code
  std::string message;  // a full sentence; "" with DC_OK
};

}  // namespace damaris
