// The log of a background process, which has no terminal: the first line makes the file that all lines go to.
// Used by: damaris-server when a client or `--detach` has started it, once, at its start.
#pragma once

#include <string>

#include "core/base/log.hpp"

namespace damaris {

// As configure_log, but nothing is opened now: a run in which nothing happens leaves no file. Lines that come while the file cannot be
// opened, because its folder is away for instance, are kept (64 KiB of them) until it can.
void configure_background_log(LogLevel level, const std::string& file, const std::string& who);

}  // namespace damaris
