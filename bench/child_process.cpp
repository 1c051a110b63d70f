#include "child_process.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <thread>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"

namespace damaris::bench {
namespace {

// Ends without what the parent has registered for its own end, and without its unwritten output.
[[noreturn]] void become_child(const std::function<void()>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // an interrupted benchmark leaves nothing behind
  int status = 0;
  try {
    work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "damaris-bench: %s\n", error.what());
    status = 1;
  }
  ::_exit(status);
}

}  // namespace

ChildProcess::ChildProcess(const std::function<void()>& work) {
  pid_ = ::fork();
  if (pid_ == 0) become_child(work);
  if (pid_ < 0) throw system_error(DC_E_MEMORY, "cannot start a process", errno, "look at the limit of processes");
}

ChildProcess::~ChildProcess() {
  if (look() != State::running) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

ChildProcess::State ChildProcess::look() {
  if (state_ != State::running) return state_;
  int status = 0;
  const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended == pid_) state_ = status == 0 ? State::ended_well : State::failed;
  return state_;
}

ChildProcess::State ChildProcess::wait(std::int64_t timeout_ms) {
  const Deadline deadline = Deadline::after_ms(timeout_ms);
  while (look() == State::running && !deadline.expired()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return state_;
}

}  // namespace damaris::bench
