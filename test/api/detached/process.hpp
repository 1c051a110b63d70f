// A process that a test starts, talks to by lines, stops, kills and waits for. Every wait has a bound.
// Used by: the detached tests, one thread.
// Before it: a program and its arguments. After it: its answers and its exit status.
#pragma once

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace damaris::test {

constexpr int kPatienceMs = 60'000;  // for what takes milliseconds on a machine that is not busy

// Calls `done` until it is true; false after kPatienceMs.
template <class Done>
bool wait_until(Done&& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    ::usleep(2'000);
  }
  return true;
}

// Stops the process `pid`. kill() returns while other threads of it still run; this returns when the last of them stands.
inline void stop(pid_t pid) {
  REQUIRE(::kill(pid, SIGSTOP) == 0);
  const auto stands = [](const std::filesystem::path& thread) {
    std::ifstream stat(thread / "stat");
    std::string text;
    std::getline(stat, text);
    const std::size_t name = text.rfind(')');
    return name != std::string::npos && text.compare(name, 3, ") T") == 0;
  };
  REQUIRE(wait_until([&] {
    const std::filesystem::directory_iterator threads("/proc/" + std::to_string(pid) + "/task");
    return std::all_of(begin(threads), end(threads), stands);
  }));
}

class Process {
 public:
  // Its output and, with `errors`, its error output come back by line(). `own_group`: it leads a process group.
  explicit Process(std::vector<std::string> command, bool errors = false, bool own_group = false) {
    int to[2], from[2];
    REQUIRE(::pipe2(to, O_CLOEXEC) == 0);
    REQUIRE(::pipe2(from, O_CLOEXEC) == 0);
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      if (own_group) ::setpgid(0, 0);
      ::dup2(to[0], 0);
      ::dup2(from[1], 1);
      if (errors) ::dup2(from[1], 2);
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    to_ = to[1];
    from_ = from[0];
  }
  ~Process() {
    if (pid_ > 0 && status_ < 0) {
      ::kill(pid_, SIGKILL);
      wait();
    }
    ::close(to_);
    ::close(from_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void kill(int signal) { ::kill(pid_, signal); }

  void say(const std::string& text) {
    const std::string line = text + "\n";
    if (::write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) FAIL("the process does not listen: " + text);
  }
  // The next line of its output, "" at the end of it.
  std::string line() {
    while (buffer_.find('\n') == std::string::npos) {
      pollfd look = {from_, POLLIN, 0};
      if (::poll(&look, 1, kPatienceMs) <= 0) FAIL("no answer");
      char text[1024];
      const ssize_t got = ::read(from_, text, sizeof text);
      if (got <= 0) return std::exchange(buffer_, "");
      buffer_.append(text, static_cast<std::size_t>(got));
    }
    const std::string first = buffer_.substr(0, buffer_.find('\n'));
    buffer_.erase(0, first.size() + 1);
    return first;
  }
  // Its exit status, 128 + signal when it was killed.
  int wait() {
    int raw = 0;
    if (status_ >= 0) return status_;
    if (!wait_until([&] { return ::waitpid(pid_, &raw, WNOHANG) == pid_; })) FAIL("the process does not end");
    return status_ = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
  }

 private:
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1, status_ = -1;
  std::string buffer_;
};

}  // namespace damaris::test
