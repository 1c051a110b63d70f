// Preserves the state of the simulation's process while Damaris works in it, and keeps its resource limits from killing it.
// Used by: every entry that writes or opens files in the simulation's process (start, the server's work in place, the log); the main
// functions of damaris-server and damaris-recover.
// Before it: a call of the simulation, or main. After it: files and the region, where a refusal of the system is an error and no signal.
#pragma once

#include <csignal>
#include <string>

namespace damaris {

// Blocks SIGXFSZ and SIGPIPE in the calling thread, so that a write beyond `ulimit -f` fails with EFBIG. Consumes those that arrive
// meanwhile, as our writes have raised them. Dispositions stay; threads started meanwhile block them, too. Never throws.
class SignalGuard {
 public:
  SignalGuard() noexcept;
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  sigset_t before_, consumed_;
};

// Opens /dev/null on those of the descriptors 0 to 2 that are closed, so that no file of ours gets such a number and receives standard
// output or error; closes them again when no thread is inside any more. Never throws.
class StdioGuard {
 public:
  StdioGuard() noexcept;
  ~StdioGuard();
  StdioGuard(const StdioGuard&) = delete;
  StdioGuard& operator=(const StdioGuard&) = delete;
};

struct ProcessGuard {
  SignalGuard signals;
  StdioGuard stdio;
};

// For the main function of a process of our own: the same until it ends. Programs that it starts find both signals as usual.
void prepare_own_process() noexcept;

// For a process of our own that another program may have started: resets the signals that it inherits as blocked or ignored, except that
// SIGHUP stays ignored, as nohup requires. Call it after setting its handlers, which get pending signals, and before it has threads.
void reset_inherited_signals() noexcept;

// "File too large (RLIMIT_FSIZE, see ulimit -f)": the system's text, and the limit that it may come from.
std::string text_of_errno(int error);

}  // namespace damaris
