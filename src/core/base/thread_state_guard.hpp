// Puts the calling thread into a known state for Damaris' own work: round to nearest, no floating-point traps, no flushing of denormals,
// and no cancellation (pthread_cancel), which would unwind the work half-way.
// Used by: every entry from the simulation that may compute or wait (the C interface), and every call of a plugin; new threads inherit the
// floating-point environment.
// Before it: the simulation, or a library that was built with -ffast-math. After it: codecs, HDF5, plugins.
#pragma once

#include <pthread.h>

#include <cfenv>

namespace damaris {

// Takes about 100 ns: not for the path of a write.
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

}  // namespace damaris
