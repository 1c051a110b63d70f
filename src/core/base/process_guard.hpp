// Preserves the state of the simulation's process and threads while Damaris works in it, turns exceeded resource limits into errors, and
// tells whether a thread is inside a plugin callback.
// Used by: every entry point that computes, waits, writes or opens files in the simulation's process (the C interface, the start, the
// server's work in place, the log); the plugin host, around every call; the main functions of damaris-server and damaris-recover.
// Before it: a call of the simulation, maybe from a library built with -ffast-math, or main. After it: codecs, HDF5, plugins; files and the
// region, where a failed system call is an error and not a signal.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cfenv>
#include <csignal>
#include <cstddef>

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

// Puts the calling thread into a known state for Damaris' own work: round to nearest, no floating-point traps, no flushing of denormals, and
// no cancellation (pthread_cancel), which would unwind the work half-way. Threads started in between inherit the floating-point
// environment. Takes about 100 ns: not for the path of a write.
class ThreadStateGuard {
 public:
  ThreadStateGuard() noexcept {
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation_);
    std::fegetenv(&environment_);
    std::fesetenv(FE_DFL_ENV);
  }
  // Restores the program's flags, traps and modes; exceptions raised in between are discarded. A cancellation requested in between takes
  // effect at the thread's next cancellation point, in the program's own code.
  ~ThreadStateGuard() {
    std::fesetenv(&environment_);
    ::pthread_setcancelstate(cancellation_, nullptr);
  }
  ThreadStateGuard(const ThreadStateGuard&) = delete;
  ThreadStateGuard& operator=(const ThreadStateGuard&) = delete;

 private:
  std::fenv_t environment_;
  int cancellation_ = 0;
};

// Whether the calling thread is inside a plugin callback, where it must not call the client interface.
class InCallback {
 public:
  InCallback() noexcept;
  ~InCallback();
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;

  // Relaxed: a thread always sees its own stores.
  static bool is_here() noexcept { return running_.load(std::memory_order_relaxed) != 0 && is_this_thread(); }

 private:
  static bool is_this_thread() noexcept;
  static std::atomic<int> running_;  // defined in libdamaris only, shared by all libraries of the process
};

// Returns freed memory to the system. After the parse of a configuration of so many bytes, all of which has been freed: it takes some ten times as much, which would otherwise
// stay with each client of the node. A small one is not worth the pages that the simulation has freed and will use again.
void return_memory_of_parse(std::size_t configuration_bytes) noexcept;

}  // namespace damaris
