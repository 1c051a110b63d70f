// Keeps the simulation's process as it was while Damaris works in it, and keeps its resource limits from killing it.
// Used by: every entry that writes or opens files in the simulation's process (start, the server's work in place, the log); the main
// functions of damaris-server and damaris-recover.
// Before it: a call of the simulation, or main. After it: files and the region, where a refusal of the system is an error and no signal.
#pragma once

#include <csignal>
#include <string>

namespace damaris {

// Holds back SIGXFSZ and SIGPIPE from the calling thread, so that a write beyond `ulimit -f` fails with EFBIG. Takes those that came
// meanwhile: they were meant for us. Dispositions stay; threads started meanwhile hold them back, too. Never throws.
class QuietSignals {
 public:
  QuietSignals() noexcept;
  ~QuietSignals();
  QuietSignals(const QuietSignals&) = delete;
  QuietSignals& operator=(const QuietSignals&) = delete;

 private:
  sigset_t before_, taken_;
};

// Opens /dev/null for those of the descriptors 0 to 2 that are closed, so that no file of ours gets one of them and is written to as
// standard output or error; closes them again when no thread is inside any more. Never throws.
class FilledStdio {
 public:
  FilledStdio() noexcept;
  ~FilledStdio();
  FilledStdio(const FilledStdio&) = delete;
  FilledStdio& operator=(const FilledStdio&) = delete;
};

struct BorrowedProcess {
  QuietSignals signals;
  FilledStdio stdio;
};

// For the main function of a process of our own: the same until it ends. Programs that it starts find both signals as usual.
void settle_own_process() noexcept;

// For a process of our own that another program may have started: what that held back or ignored is nothing to it, but SIGHUP stays
// ignored, as nohup asks. After its own handlers are set: what has come meanwhile is theirs. Before it has threads.
void forget_inherited_signals() noexcept;

// "File too large (RLIMIT_FSIZE, see ulimit -f)": the system's text, and the limit that it may come from.
std::string text_of_errno(int error);

}  // namespace damaris
