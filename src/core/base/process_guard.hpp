// Preserves the state of the simulation's process while Damaris works in it, and turns exceeded resource limits into errors.
// Used by: every entry point that writes or opens files in the simulation's process (start, the server's work in place, the log); the
// main functions of damaris-server and damaris-recover.
// Before it: a call of the simulation, or main. After it: files and the region, where a failed system call is an error and not a signal.
#pragma once

#include <csignal>

#include "core/base/errno_text.hpp"

namespace damaris {

// Blocks SIGXFSZ and SIGPIPE in the calling thread, so that a write beyond `ulimit -f` fails with EFBIG. The destructor consumes those
// raised in between, as our own writes caused them. Dispositions do not change; threads started in between inherit the mask. Never throws.
class SignalGuard {
 public:
  SignalGuard() noexcept;
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  sigset_t before_, consumed_;
};

// For a thread of ours: all signals but those that a fault of its own raises go to the threads of the simulation, or the main thread.
void block_signals() noexcept;

// For a process that serves: opens /dev/null on those of the descriptors 0 to 2 that are closed, so that no file that a library opens gets
// such a number, and lines of the log.
void fill_standard_streams() noexcept;

// For the main function of our own programs: the same protection until the process ends, fill_standard_streams(), and
// keep_descriptors_low(). Programs that it starts get both signals with their default disposition.
void prepare_own_process() noexcept;

// For our own programs, which another program may have started: resets inherited blocked and ignored signals, except that SIGHUP stays
// ignored, as nohup requires. Call it after installing handlers, which then receive pending signals, and before starting threads.
void reset_inherited_signals() noexcept;

}  // namespace damaris
