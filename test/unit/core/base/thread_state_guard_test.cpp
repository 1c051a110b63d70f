#include "core/base/process_guard.hpp"

#include <fenv.h>
#include <pthread.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <atomic>
#include <cfenv>
#include <cmath>
#include <limits>
#include <thread>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

using damaris::ThreadStateGuard;

namespace {

// Computed when it is asked for, in the modes of that moment.
double third() {
  volatile double one = 1, three = 3;
  return one / three;
}
bool keeps_denormals() {
  volatile double least = std::numeric_limits<double>::denorm_min(), two = 2;
  return least * two > 0;
}
void divide_nothing_by_nothing() {
  volatile double zero = 0;
  volatile double result = zero / zero;
  (void)result;
}

// A simulation that has changed all it can: rounding, traps, denormals, a flag raised.
class Wild {
 public:
  Wild() {
    std::fegetenv(&before_);
    std::feclearexcept(FE_ALL_EXCEPT);
    std::feraiseexcept(FE_DIVBYZERO);
    std::fesetround(FE_UPWARD);
#ifdef __SSE__
    _mm_setcsr(_mm_getcsr() | 0x8040);  // flush to zero, denormals are zero
#endif
    ::feenableexcept(FE_INVALID);
  }
  ~Wild() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_;
};

}  // namespace

TEST_CASE("inside, nothing traps, rounding is to nearest and denormals are numbers; threads that are created there inherit that") {
  const double nearest = third();
  bool calm_in_thread = false;
  double inside = 0;
  bool keeps = false;
  {
    const Wild wild;
    const ThreadStateGuard thread_state;
    inside = third();
    keeps = keeps_denormals();
    divide_nothing_by_nothing();
    std::thread([&] {
      divide_nothing_by_nothing();
      calm_in_thread = third() == inside && keeps_denormals();
    }).join();
  }
  CHECK(inside == nearest);
  CHECK(keeps);
  CHECK(calm_in_thread);
}

TEST_CASE("afterwards modes, traps and flags are those of before") {
  int round = 0, traps = 0, flags = 0;
  bool same_modes = true;
  {
    const Wild wild;
#ifdef __SSE__
    const unsigned before = _mm_getcsr();
#endif
    {
      const ThreadStateGuard thread_state;
      divide_nothing_by_nothing();
      (void)third();
    }
#ifdef __SSE__
    same_modes = _mm_getcsr() == before;
#endif
    round = std::fegetround();
    traps = ::fegetexcept();
    flags = std::fetestexcept(FE_ALL_EXCEPT);
  }
  CHECK(round == FE_UPWARD);
  CHECK(traps == FE_INVALID);
  CHECK(flags == FE_DIVBYZERO);
  CHECK(same_modes);
}

#ifndef __SANITIZE_ADDRESS__  // which takes the stack of a cancelled thread for one in use
TEST_CASE("a thread that is cancelled in the meantime ends after the work, not during it") {
  struct Work {
    std::atomic<bool> begun{false}, go_on{false}, done{false};
  } work;
  const auto body = [](void* data) -> void* {
    Work& work = *static_cast<Work*>(data);
    {
      const ThreadStateGuard thread_state;
      work.begun = true;
      while (!work.go_on) ::usleep(100);  // a cancellation point
      work.done = true;
    }
    ::pthread_testcancel();
    return nullptr;
  };
  ::pthread_t thread;
  REQUIRE(::pthread_create(&thread, nullptr, body, &work) == 0);
  while (!work.begun) std::this_thread::yield();  // else the test's time limit ends it
  REQUIRE(::pthread_cancel(thread) == 0);
  work.go_on = true;
  void* result = nullptr;
  REQUIRE(::pthread_join(thread, &result) == 0);
  CHECK(work.done);
  CHECK(result == PTHREAD_CANCELED);
}
#endif
