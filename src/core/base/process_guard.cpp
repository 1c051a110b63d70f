#include "core/base/process_guard.hpp"

#include <fcntl.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <cerrno>
#include <ctime>

#include "core/base/own_file.hpp"

namespace damaris {
namespace {

constexpr int kQuiet[] = {SIGXFSZ, SIGPIPE};

extern "C" void ignore_signal(int) {}

thread_local int depth = 0;

}  // namespace

// In ascending order, because open returns the lowest free descriptor.
void fill_standard_streams() noexcept {
  for (int descriptor = 0; descriptor < 3; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) < 0) ::open("/dev/null", O_RDWR | O_CLOEXEC);
}

// Signals that are already blocked or pending belong to the simulation.
SignalGuard::SignalGuard() noexcept {
  sigset_t quiet, pending;
  ::sigemptyset(&quiet);
  ::sigemptyset(&consumed_);
  ::sigemptyset(&pending);
  for (const int signal : kQuiet) ::sigaddset(&quiet, signal);
  ::pthread_sigmask(SIG_BLOCK, &quiet, &before_);
  ::sigpending(&pending);
  for (const int signal : kQuiet)
    if (::sigismember(&pending, signal) == 0) ::sigaddset(&consumed_, signal);
}

SignalGuard::~SignalGuard() {
  const int error = errno;
  const struct timespec at_once = {};
  while (::sigtimedwait(&consumed_, nullptr, &at_once) > 0 || errno == EINTR) errno = 0;
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

// An empty handler, not SIG_IGN, which programs started by a plugin would inherit.
void prepare_own_process() noexcept {
  fill_standard_streams();
  keep_descriptors_low();
  struct sigaction action = {};
  action.sa_handler = ignore_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal : kQuiet) ::sigaction(signal, &action, nullptr);
}

void block_signals() noexcept {
  sigset_t all;
  ::sigfillset(&all);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) ::sigdelset(&all, own);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

void reset_inherited_signals() noexcept {
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    struct sigaction action = {};
    if (signal == SIGHUP || ::sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_IGN) continue;
    action.sa_handler = SIG_DFL;
    ::sigaction(signal, &action, nullptr);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

std::atomic<int> InCallback::running_{0};

InCallback::InCallback() noexcept {
  running_.fetch_add(1, std::memory_order_relaxed);
  ++depth;
}

InCallback::~InCallback() {
  --depth;
  running_.fetch_sub(1, std::memory_order_relaxed);
}

bool InCallback::is_this_thread() noexcept { return depth != 0; }

void return_memory_of_parse(std::size_t configuration_bytes) noexcept {
  constexpr std::size_t kWorthIt = 64 << 10;
  if (configuration_bytes < kWorthIt) return;
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace damaris
