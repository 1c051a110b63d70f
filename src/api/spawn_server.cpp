#include "api/spawn_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/module_path.hpp"

namespace damaris::api {
namespace {

constexpr int kReadyDescriptor = 3;  // in the server: the only inherited descriptor besides /dev/null on 0 to 2

std::string server_program() {
  if (const char* given = ::secure_getenv("DAMARIS_SERVER"); given != nullptr && *given != '\0') return given;
  const std::string beside =
      (std::filesystem::path(library_folder()).parent_path() / "bin" / "damaris-server").lexically_normal().string();
  if (::access(beside.c_str(), X_OK) != 0)
    throw Error(DC_E_CONFIG,
                format("no damaris-server at {}; set DAMARIS_SERVER to its path, or start it before the clients", beside));
  return beside;
}

// Child: writes its failure to the pipe that read_reply() reads, as a letter and errno in three digits.
constexpr char kNoProcess = 'p', kNoProgram = 'x';
[[noreturn]] void report_and_exit(int ready, char what) {
  const int reason = errno;
  const char text[] = {what, static_cast<char>('0' + reason / 100 % 10), static_cast<char>('0' + reason / 10 % 10),
                       static_cast<char>('0' + reason % 10)};
  (void)!::write(ready, text, sizeof text);
  ::_exit(127);
}

// A kernel before Linux 5.9, or a sandbox, has no close_range.
void close_from(int first) {
  if (::syscall(SYS_close_range, first, ~0u, 0) == 0) return;
  constexpr rlim_t kMost = rlim_t{1} << 20;
  struct rlimit limit = {kMost, kMost};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  for (int descriptor = first; descriptor < static_cast<int>(std::min(limit.rlim_cur, kMost)); ++descriptor) ::close(descriptor);
}

// Only async-signal-safe calls, because the parent may have threads. The second fork makes init the parent, so that no process has to
// reap it.
[[noreturn]] void become_server(const char* program, const char* config, const char* clients, int ready, int null) {
  ::setsid();
  const pid_t server = ::fork();
  if (server < 0) report_and_exit(ready, kNoProcess);
  if (server > 0) ::_exit(0);
  // First out of the way: they may have these numbers, in a program that has closed its standard streams.
  for (int* const one : {&ready, &null}) {
    const int high = *one > kReadyDescriptor ? *one : ::fcntl(*one, F_DUPFD, kReadyDescriptor + 1);
    if (high < 0) report_and_exit(ready, kNoProcess);
    *one = high;
  }
  for (const int standard : {0, 1, 2}) ::dup2(null, standard);
  ::dup2(ready, kReadyDescriptor);
  close_from(kReadyDescriptor + 1);
  ::execl(program, "damaris-server", config, "--ready-fd", "3", clients, static_cast<char*>(nullptr));
  report_and_exit(kReadyDescriptor, kNoProgram);
}

// Returns the server's reply through the pipe: "ok", or "<code> <message>"; or the text of report_and_exit().
std::string read_reply(int pipe, const std::string& program, std::int64_t timeout_ms) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 10;
  const Deadline deadline = Deadline::after_ms(timeout_ms);
  std::string reply;
  while (true) {
    pollfd look = {pipe, POLLIN, 0};
    const int ready = ::poll(&look, 1, static_cast<int>(deadline.left_ms(timeout_ms)));
    if (ready == 0 || (!reply.empty() && deadline.passed()))
      throw Error(DC_E_TIMEOUT, format("the damaris-server that this client started is not ready after {} ms", timeout_ms));
    if (ready < 0) {  // nothing to read: the read would block without bound
      if (errno == EINTR) continue;
      throw system_error(DC_E_MEMORY, "cannot wait for damaris-server", errno, "check the limit of open files");
    }
    char text[512];
    const ssize_t length = ::read(pipe, text, sizeof text);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return reply;
    reply.append(text, static_cast<std::size_t>(length));
    if (reply.size() > kMostBytes)
      throw Error(DC_E_SERVER_LOST, format("{} answers its start with more than 64 KiB, so it is no damaris-server; set "
                                           "DAMARIS_SERVER to the path of one",
                                           program));
  }
}

Error no_process(int reason) {
  return system_error(DC_E_MEMORY, "cannot start damaris-server", reason,
                      "no process can be made: see ulimit -u, ulimit -v and pids.max of the control group");
}

}  // namespace

void spawn_server(const std::string& config, int clients, std::int64_t timeout_ms) {
  const std::string program = server_program();
  const std::string clients_option = format("--clients={}", clients);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error(DC_E_MEMORY, "cannot make a pipe", errno, "check the limit of open files");
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) {
    const int reason = errno;
    for (const int end : ends) ::close(end);
    throw system_error(DC_E_MEMORY, "cannot open /dev/null", reason, "check it, and the limit of open files");
  }
  const pid_t child = ::fork();
  if (child == 0) become_server(program.c_str(), config.c_str(), clients > 0 ? clients_option.c_str() : nullptr, ends[1], null);
  const int fork_errno = errno;
  ::close(ends[1]);
  ::close(null);
  struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } closer{ends[0]};
  if (child < 0) throw no_process(fork_errno);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  const std::string reply = read_reply(ends[0], program, timeout_ms);
  if (reply.rfind("ok", 0) == 0) return;
  if (!reply.empty() && reply[0] == kNoProcess) throw no_process(std::atoi(reply.c_str() + 1));
  if (!reply.empty() && reply[0] == kNoProgram)
    throw system_error(DC_E_SERVER_LOST, format("cannot run {}", program), std::atoi(reply.c_str() + 1),
                       "check it, or set DAMARIS_SERVER to another path");
  const int code = std::atoi(reply.c_str());
  if (code < 0) throw Error(static_cast<dc_code>(code), reply.substr(reply.find(' ') + 1));
  throw Error(DC_E_SERVER_LOST, format("{} ended before it was ready; run it by hand to see why", program));
}

}  // namespace damaris::api
