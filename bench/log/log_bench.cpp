// What an append to a log costs its client: beside a memcpy, beside a file for each process, and when the buffer is full (figure 11 of the
// event-tracing paper, in small).
#include <damaris/damaris.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <new>
#include <optional>
#include <random>

#include "barrier.hpp"
#include "child_process.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "folder.hpp"
#include "local_server.hpp"
#include "machine.hpp"
#include "memory.hpp"
#include "progress.hpp"
#include "verbs.hpp"
#include "write/comparison.hpp"
#if DAMARIS_BENCH_STORAGE
#include "never_stops/slow_target.hpp"
#include "storage/throttle.hpp"
#endif

namespace damaris::bench {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr int kAppends = 4;               // of 1 MiB, by each of many processes
constexpr std::uint64_t kHeaders = 8192;  // of blocks, so that as many MiB fit as the buffer has
constexpr double kDeviceBytesPerS = 200e6;

void check(int code) {
  if (code != DC_OK) throw Error(static_cast<dc_code>(code), dc_last_error());
}

std::string configuration(const std::string& basename, int clients, std::uint64_t buffer_bytes) {
  return format(
      "<simulation name=\"{}\">\n  <architecture><clients count=\"{}\"/><server start=\"manual\" finalize-timeout=\"10min\"/>"
      "<buffer size=\"{}\" timeout=\"5min\"/></architecture>\n  <storage><stream-log name=\"events\"/></storage>\n</simulation>\n",
      basename, clients, buffer_bytes);
}

// ---- one client, beside a memcpy

enum class Way { plain_memcpy, append_to, alloc_publish };
constexpr std::array kWays = {Way::plain_memcpy, Way::append_to, Way::alloc_publish};
struct Size {
  std::uint64_t bytes;
  int calls;
};

class Appender {
 public:
  Appender(const std::string& config, Circle& source, Circle& target) : source_(source), target_(target) {
    check(dc_initialize(config.c_str(), 0));
    check(dc_log("events", &log_));
  }
  ~Appender() {
    const int code = dc_finalize();
    static_cast<void>(code);  // the figures have been reported already
  }

  Sample measure(Way way, const Size& size) {
    std::vector<std::byte*> from, to;
    for (int i = 0; i < size.calls; ++i) from.push_back(source_.next(size.bytes)), to.push_back(target_.next(size.bytes));
    int code = DC_OK;
    const Sample sample = time_calls(size.calls, [&](int i) {
      const auto at = static_cast<std::size_t>(i);
      code |= call(way, from[at], to[at], size.bytes);
    });
    check(code);
    if (way != Way::plain_memcpy) drain();
    return sample;
  }

 private:
  int call(Way way, const std::byte* from, std::byte* to, std::uint64_t bytes) {
    if (way == Way::append_to) return dc_append_to(log_, from, bytes, nullptr);
    if (way == Way::plain_memcpy) return std::memcpy(to, from, bytes), DC_OK;
    void* data = nullptr;
    const int code = dc_append_alloc(log_, bytes, &data);
    if (code != DC_OK) return code;
    std::memcpy(data, from, bytes);
    return dc_append_publish(log_, data, bytes, nullptr);
  }
  // Until the server has written all of it: what is measured is an append into a buffer that has room.
  static void drain() {
    dc_status_t status;
    do {
      ::usleep(500);
      check(dc_status(&status));
    } while (status.buffer_used_bytes > 0);
  }

  Circle& source_;
  Circle& target_;
  dc_log_t* log_ = nullptr;
};

void measure_one(bool quick, const Folder& folder, Report& report) {
  const std::array sizes = {Size{64, 64}, Size{4096, 16}, Size{kMiB, 4}};
  const int rounds = quick ? 3 : 60, warm_up = quick ? 3 : 8;  // until the way to copy is decided
  Circle source = Circle::private_memory(64 * kMiB), target = Circle::shared_memory(64 * kMiB);
  const std::string config = folder.write("one.xml", configuration("one", 1, 64 * kMiB));
  const LocalServer server(config, 1);
  Appender appender(config, source, target);
  Progress progress("append");
  std::mt19937 random(1);
  std::array<std::array<Samples, kWays.size()>, sizes.size()> table;
  for (int round = 0; round < warm_up + rounds; ++round) {
    progress.show(round, warm_up + rounds);
    for (std::size_t size = 0; size < sizes.size(); ++size) {
      std::array ways = kWays;
      std::shuffle(ways.begin(), ways.end(), random);
      for (const Way way : ways) {
        const Sample sample = appender.measure(way, sizes[size]);
        if (round >= warm_up) table[size][static_cast<std::size_t>(way)].add(sample);
      }
    }
  }
  std::printf("\n%8s %9s %9s %13s  %s\n", "", "memcpy", "append_to", "alloc+publish", "append_to - or / memcpy");
  for (std::size_t size = 0; size < sizes.size(); ++size) {
    const auto& [plain, ours, placed] = table[size];
    std::printf("%8s %9s %9s %13s  %s\n", size_text(sizes[size].bytes).c_str(), time_text(median(plain.wall_ns)).c_str(),
                time_text(median(ours.wall_ns)).c_str(), time_text(median(placed.wall_ns)).c_str(),
                comparison(sizes[size].bytes, ours.wall_ns, plain.wall_ns).c_str());
    report.details.push_back(details({{"bytes", sizes[size].bytes}, {"method", "memcpy"}}, plain));
    report.details.push_back(details({{"bytes", sizes[size].bytes}, {"method", "append_to"}}, ours));
  }
  const auto& small = table.front();
  const auto& large = table.back();
  report.rows.push_back({"dc_append_to 1 MiB over memcpy", ratio(large[1].wall_ns, large[0].wall_ns), true, 1.2, 1.05,
                         ratio(large[1].cpu_ns, large[0].cpu_ns).median});
  report.rows.push_back({"dc_append_to 64 B, ns added over memcpy", added(small[1].wall_ns, small[0].wall_ns), true, 80, 60,
                         added(small[1].cpu_ns, small[0].cpu_ns).median});
}

// ---- many clients

// In memory that all processes share.
struct Board {
  explicit Board(int processes) : barrier(processes) {}
  Barrier barrier;
  double stopped_s[kMostClients] = {};
};

class SharedBoard {
 public:
  explicit SharedBoard(int processes) {
    void* const memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error(DC_E_MEMORY, "no memory for the results of the benchmark");
    board_ = new (memory) Board(processes);
  }
  ~SharedBoard() { ::munmap(board_, sizeof(Board)); }
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;
  Board& get() { return *board_; }

 private:
  Board* board_;
};

// Each process calls `work(id, board)`; returns how long each was stopped. Units: seconds.
template <class Work>
std::vector<double> in_processes(int processes, Work&& work) {
  SharedBoard shared(processes);
  std::deque<ChildProcess> children;
  for (int id = 0; id < processes; ++id) children.emplace_back([&, id] { work(id, shared.get()); });
  for (ChildProcess& child : children)
    if (child.wait(600'000) != ChildProcess::State::ended_well)
      throw Error(DC_E_CLIENT_LOST, "one of the processes of the benchmark has failed; what it said stands above");
  return {shared.get().stopped_s, shared.get().stopped_s + processes};
}

template <class Write>
double time_writes(Board& board, int count, Write&& write) {
  const std::vector<std::byte> bytes(kMiB, std::byte{7});
  board.barrier.wait();
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < count; ++i) write(bytes, i);
  return seconds_since(start);
}

void append(const std::string& config, int id, int count, Board& board) {
  check(dc_initialize(config.c_str(), id));
  dc_log_t* log = nullptr;
  check(dc_log("events", &log));
  board.stopped_s[id] =
      time_writes(board, count, [&](const auto& bytes, int) { check(dc_append_to(log, bytes.data(), kMiB, nullptr)); });
  check(dc_finalize());
}

// `syncs`: as a program does that may not lose what it has flushed; else the bytes are in the page cache.
void write_own_file(const std::string& path, int id, int count, bool syncs, Board& board) {
  int file = -1;
  board.stopped_s[id] = time_writes(board, count, [&](const auto& bytes, int i) {
    if (i == 0) file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (::pwrite(file, bytes.data(), kMiB, static_cast<off_t>(i) * static_cast<off_t>(kMiB)) != static_cast<ssize_t>(kMiB))
      throw system_error(DC_E_IO, "cannot write " + path, errno, "give --folder one with room");
    if (i < count - 1) return;
    if (syncs) ::fsync(file);
    ::close(file);
  });
}

std::vector<double> by_log(const Folder& folder, int processes, int count, std::uint64_t buffer_bytes) {
  const std::string config = folder.write("many.xml", configuration("out", processes, buffer_bytes));
  const LocalServer server(config, processes);
  return in_processes(processes, [&](int id, Board& board) { append(config, id, count, board); });
}

std::vector<double> by_files(const Folder& folder, int processes, int count, bool syncs) {
  return in_processes(processes, [&](int id, Board& board) {
    write_own_file((folder.path() / format("out.{}", id)).string(), id, count, syncs, board);
  });
}

void remove_output(const Folder& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    if (entry.path().filename().string().rfind("out.", 0) == 0) std::filesystem::remove(entry.path());
}

void append_all(std::vector<double>& to, const std::vector<double>& from) { to.insert(to.end(), from.begin(), from.end()); }

// Both ways in turn; each function makes the device slow around one of them. Returns the ratios of the medians.
template <class AroundLog, class AroundFiles>
Estimate compare_many(bool quick, const Folder& folder, const std::string& where, bool syncs, AroundLog&& around_log,
                      AroundFiles&& around_files, Report& report) {
  const int processes = quick ? 8 : kMostClients, repeats = quick ? 1 : 3;
  std::vector<double> log, files, ratios;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    std::vector<double> these, those;
    around_files([&] { those = by_files(folder, processes, kAppends, syncs); });
    remove_output(folder);
    around_log([&] { these = by_log(folder, processes, kAppends, (2 * kMiB + kHeaders) * static_cast<std::uint64_t>(processes)); });
    remove_output(folder);
    ratios.push_back(median(these) / median(those));
    append_all(log, these);
    append_all(files, those);
  }
  std::printf("%-10s %10s %20s\n", where.c_str(), time_text(median(log) * 1e9).c_str(), time_text(median(files) * 1e9).c_str());
  report.details.push_back({{"device", where}, {"processes", processes}, {"log_s", log}, {"files_s", files}});
  return estimate(ratios);
}

void measure_many(bool quick, const Folder& folder, Report& report) {
  std::printf("\n%d processes append %d x 1 MiB; how long each is stopped, median\n%-10s %10s %20s\n", quick ? 8 : kMostClients,
              kAppends, "", "a log", "a file for each");
  const auto bare = [](auto&& work) { work(); };
  const auto add = [&](const char* where, const Estimate& ratio) {
    const int processes = quick ? 8 : kMostClients;
    report.rows.push_back({format("{} processes, stopped: log / file each, {}", processes, where), ratio, true, 1.0 / 3, 0.1, 0});
  };
  compare_many(quick, folder, "page cache", false, bare, bare, report);
  add("fsync", compare_many(quick, folder, "fsync", true, bare, bare, report));
#if DAMARIS_BENCH_STORAGE
  const auto slow_server = [&](auto&& work) {
    SlowTarget device(folder.path());
    device.set_rate(static_cast<std::uint64_t>(kDeviceBytesPerS));
    work();
  };
  const auto slow_files = [](auto&& work) {
    const Throttle device({kDeviceBytesPerS, 0});
    work();
  };
  add("200 MB/s", compare_many(quick, folder, "200 MB/s", false, slow_server, slow_files, report));
#endif
}

// ---- figure 11 in small

void draw_figure(bool quick, const Folder& folder, Report& report) {
  const std::vector<int> clients = quick ? std::vector{1, 4} : std::vector{1, 4, 16, kMostClients};
  const std::vector<int> mib = quick ? std::vector{1, 4} : std::vector{1, 2, 4, 8, 16};
  constexpr std::uint64_t kBuffer = 4 * kMiB;  // of a client
  std::printf("\nperceived bandwidth, MB/s, by clients and MiB of each; buffer of %s for each\n%8s", size_text(kBuffer).c_str(),
              "clients");
  for (const int size : mib) std::printf(" %8d", size);
  std::printf("\n");
  for (const int count : clients) {
    std::printf("%8d", count);
    for (const int size : mib) {
      const std::vector<double> stopped = by_log(folder, count, size, (kBuffer + kHeaders) * static_cast<std::uint64_t>(count));
      remove_output(folder);
      const double mb_per_s = count * size * (static_cast<double>(kMiB) / 1e6) / *std::max_element(stopped.begin(), stopped.end());
      std::printf(" %8.0f", mb_per_s);
      std::fflush(stdout);
      report.details.push_back({{"figure", 11}, {"clients", count}, {"mib_per_client", size}, {"mb_per_s", mb_per_s}});
    }
    std::printf("\n");
  }
}

}  // namespace

Report run_log(bool quick, const std::string& parent) {
  const Folder folder(parent);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());  // the logs are named by the simulation
  Report report;
  try {
    draw_figure(quick, folder, report);  // first, as it forks most: this process has attached to nothing yet
    measure_many(quick, folder, report);
    pin_to_client_core();
    measure_one(quick, folder, report);
  } catch (...) {
    std::filesystem::current_path(before);
    throw;
  }
  std::filesystem::current_path(before);
  return report;
}

}  // namespace damaris::bench
