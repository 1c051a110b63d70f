#include "core/base/process_guard.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <mutex>

#include "core/base/own_file.hpp"

namespace damaris {
namespace {

constexpr int kQuiet[] = {SIGXFSZ, SIGPIPE};

std::mutex stdio_mutex;
int inside = 0;
bool filled[3] = {};

bool is_null_device(int descriptor) noexcept {
  struct stat ours = {}, null = {};
  return ::fstat(descriptor, &ours) == 0 && ::stat("/dev/null", &null) == 0 && S_ISCHR(ours.st_mode) &&
         ours.st_rdev == null.st_rdev;
}

// In ascending order, because open returns the lowest free descriptor.
void fill_stdio() noexcept {
  for (int descriptor = 0; descriptor < 3; ++descriptor) {
    filled[descriptor] = false;
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    const int got = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    filled[descriptor] = got == descriptor;
    if (got >= 0 && got != descriptor) ::close(got);  // another thread opened a file concurrently
  }
}

// Another thread may have replaced the descriptor by its own file, which must stay open.
void empty_stdio() noexcept {
  for (int descriptor = 0; descriptor < 3; ++descriptor)
    if (filled[descriptor] && is_null_device(descriptor)) ::close(descriptor);
}

extern "C" void ignore_signal(int) {}

}  // namespace

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

StdioGuard::StdioGuard() noexcept {
  const std::lock_guard<std::mutex> lock(stdio_mutex);
  if (inside++ == 0) fill_stdio();
}

StdioGuard::~StdioGuard() {
  const std::lock_guard<std::mutex> lock(stdio_mutex);
  if (--inside == 0) empty_stdio();
}

// An empty handler, not SIG_IGN, which programs started by a plugin would inherit.
void prepare_own_process() noexcept {
  static const auto* const permanent = new StdioGuard;  // never released, not even at exit
  (void)permanent;
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

}  // namespace damaris
