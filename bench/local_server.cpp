#include "local_server.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/base/format.hpp"

namespace damaris::bench {
namespace {

constexpr std::int64_t kReadyMs = 60'000;
constexpr std::int64_t kEndMs = 20'000;

std::string server_program() {
  if (const char* given = std::getenv("DAMARIS_SERVER"); given != nullptr && *given != '\0') return given;
  return (std::filesystem::path(library_folder()).parent_path() / "bin" / "damaris-server").lexically_normal().string();
}

[[noreturn]] void become_server(const std::string& program, const std::string& config, int clients, std::size_t core, int ready) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // an interrupted benchmark leaves nothing behind
  pin_to_core(core);
  const std::string count = format("--clients={}", clients), descriptor = format("--ready-fd={}", ready);
  ::execl(program.c_str(), "damaris-server", config.c_str(), count.c_str(), descriptor.c_str(), static_cast<char*>(nullptr));
  ::_exit(127);
}

}  // namespace

LocalServer::LocalServer(const std::string& config, int clients, std::size_t core) {
  const std::string program = server_program();
  int ends[2];
  if (::pipe(ends) != 0) throw system_error(DC_E_INTERNAL, "cannot make a pipe", errno, "check the limit of open files");
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(ends[0]);
    become_server(program, config, clients, core, ends[1]);
  }
  ::close(ends[1]);
  try {
    wait_until_ready(ends[0]);
  } catch (...) {
    ::close(ends[0]);
    ::kill(pid_, SIGKILL);
    stop();
    throw;
  }
  ::close(ends[0]);
}

void LocalServer::wait_until_ready(int pipe) const {
  const Deadline deadline = Deadline::after_ms(kReadyMs);
  std::string said;
  char text[512];
  while (true) {
    pollfd look = {pipe, POLLIN, 0};
    if (::poll(&look, 1, static_cast<int>(deadline.left_ms(kReadyMs))) == 0)
      throw Error(DC_E_TIMEOUT, format("the damaris-server of the benchmark is not ready after {} ms", kReadyMs));
    const ssize_t length = ::read(pipe, text, sizeof text);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) break;
    said.append(text, static_cast<std::size_t>(length));
  }
  if (said != "ok")
    throw Error(DC_E_SERVER_LOST, format("{} did not start: {}", server_program(), said.empty() ? "it said nothing" : said));
}

LocalServer::~LocalServer() { stop(); }

void LocalServer::stop() noexcept {
  const Deadline deadline = Deadline::after_ms(kEndMs);
  while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (deadline.expired()) ::kill(pid_, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

double LocalServer::cpu_ns() const {
  clockid_t clock;
  timespec time = {};
  if (::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &time) != 0)
    throw Error(DC_E_SERVER_LOST, "the damaris-server of the benchmark has ended before its time");
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

}  // namespace damaris::bench
