#include "storage/server_group.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <thread>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "plugins/hdf5/file/handle.hpp"
#include "plugins/hdf5/storage.hpp"
#include "storage/made_run.hpp"

namespace damaris::bench {
namespace {

constexpr int kMostServers = 16, kMostSteps = 256, kWithoutEstimate = 2;
constexpr std::size_t kMostBytes = 65536;  // of a message
constexpr auto kPause = std::chrono::microseconds(500);

struct Shared {
  std::atomic<int> done{0};
  std::array<std::array<double, kMostSteps>, kMostServers> write_s{};
};

// A letter box of each server, which all others can write to.
class Boxes {
 public:
  explicit Boxes(int count) : ends_(static_cast<std::size_t>(count)) {
    for (auto& end : ends_)
      if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, end.data()) != 0)
        throw system_error(DC_E_INTERNAL, "cannot make a socket pair", errno, "check the limit of open files");
  }
  ~Boxes() {
    for (const auto& end : ends_) {
      ::close(end[0]);
      ::close(end[1]);
    }
  }
  Boxes(const Boxes&) = delete;
  Boxes& operator=(const Boxes&) = delete;

  int send(int from, int to, const void* data, std::uint64_t bytes) const {
    std::string text(1, static_cast<char>(from));
    text.append(static_cast<const char*>(data), bytes);
    const bool sent = ::send(ends_[static_cast<std::size_t>(to)][0], text.data(), text.size(), 0) >= 0;
    return sent ? DC_OK : DC_E_IO;
  }
  // Hands on what has come.
  template <class Take>
  void empty(int mine, Take&& take) const {
    std::array<char, kMostBytes> text;
    for (ssize_t size; (size = ::recv(ends_[static_cast<std::size_t>(mine)][1], text.data(), text.size(), 0)) > 0;)
      take(text[0], std::string(text.data() + 1, static_cast<std::size_t>(size) - 1));
  }

 private:
  std::vector<std::array<int, 2>> ends_;
};

// What host->send needs; one server a process.
const Boxes* the_boxes = nullptr;
int my_index = 0;

void serve(const GroupPlan& plan, const std::string& basename, Shared& shared, Clock::time_point start) {
  MadeRun run({4, 1, plan.bytes / 4, true}, basename);
  run.set("schedule", plan.schedule);
  run.host().server_index = my_index;
  run.host().server_count = plan.servers;
  run.host().communicator = &shared;  // only looked at
  run.host().send = [](void*, int to, const void* data, std::uint64_t bytes) { return the_boxes->send(my_index, to, data, bytes); };
  const hdf5::QuietErrors quiet;
  hdf5::Storage storage(run.host());
  const auto listen = [&] { the_boxes->empty(my_index, [&](int from, const std::string& text) { storage.receive(from, text); }); };
  const auto due = [&](int step) {
    return start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(plan.interval_s * step));
  };
  for (int number = 0; number < plan.steps; ++number) {
    for (; Clock::now() < due(number); std::this_thread::sleep_for(kPause)) listen();
    dc_step_t step = run.step(number);
    Clock::time_point begin = {};
    for (int code = DC_WAIT; code != DC_OK;) {
      listen();
      if (code == DC_WAIT) begin = Clock::now();
      step.age_s = std::chrono::duration<double>(begin - due(number)).count();
      step.urgent = begin >= due(number + 1) ? 1 : 0;
      code = storage.store(step);
      if (code < 0) throw Error(static_cast<dc_code>(code), "a step is not stored");
      if (code == DC_WAIT) std::this_thread::sleep_for(kPause);
    }
    shared.write_s[static_cast<std::size_t>(my_index)][static_cast<std::size_t>(number)] = seconds_since(begin);
    ::unlink((basename + format(".bench.s{}.i{}.h5", my_index, number)).c_str());
  }
  for (++shared.done; shared.done < plan.servers; std::this_thread::sleep_for(kPause)) listen();
}

[[noreturn]] void be_server(const GroupPlan& plan, const std::string& basename, Shared& shared, Clock::time_point start) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int status = 1;
  try {
    serve(plan, basename, shared, start);
    status = 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "damaris-bench: server %d: %s\n", my_index, error.what());
  }
  ::_exit(status);
}

void wait_for(const std::vector<pid_t>& servers, Deadline deadline) {
  bool failed = false;
  for (const pid_t server : servers) {
    int status = 0;
    while (::waitpid(server, &status, WNOHANG) == 0) {
      if (deadline.expired() || failed) ::kill(server, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  if (failed) throw Error(DC_E_INTERNAL, "a server of the benchmark failed or did not end in time");
}

}  // namespace

std::vector<double> run_group(const GroupPlan& plan, const std::string& folder) {
  void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error(DC_E_MEMORY, "no memory for the servers of the benchmark");
  auto* const shared = new (memory) Shared;
  const Boxes boxes(plan.servers);
  the_boxes = &boxes;
  const Clock::time_point start = Clock::now() + std::chrono::milliseconds(200);
  std::vector<pid_t> servers;
  for (int index = 0; index < plan.servers; ++index) {
    my_index = index;
    servers.push_back(::fork());
    if (servers.back() == 0) be_server(plan, folder + "/" + plan.schedule, *shared, start);
  }
  wait_for(servers, Deadline::after_ms(static_cast<std::int64_t>((plan.steps + 2) * plan.interval_s * 10'000) + 10'000));
  std::vector<double> writes;
  for (int index = 0; index < plan.servers; ++index)
    for (int step = kWithoutEstimate; step < plan.steps; ++step)
      writes.push_back(shared->write_s[static_cast<std::size_t>(index)][static_cast<std::size_t>(step)]);
  ::munmap(memory, sizeof(Shared));
  return writes;
}

}  // namespace damaris::bench
