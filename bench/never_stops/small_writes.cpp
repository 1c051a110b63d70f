#include "never_stops/small_writes.hpp"

#include <damaris/damaris.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "local_server.hpp"
#include "machine.hpp"
#include "memory.hpp"
#include "never_stops/calls.hpp"
#include "progress.hpp"
#include "statistics.hpp"

namespace damaris::bench {
namespace {

constexpr int kBatch = 100;  // writes that are timed together: a clock takes as long as a write
constexpr std::uint64_t kSmall = 64, kLarge = std::uint64_t{8} << 20;

struct Plan {
  int rounds, batches, large;  // `batches` of a round; `large` variables of 8 MiB to compress meanwhile
  static Plan of(bool quick) { return quick ? Plan{3, 10, 2} : Plan{40, 40, 4}; }
  int variables() const { return batches * kBatch; }
};

std::string xml(const std::filesystem::path& folder, const Plan& plan) {
  std::string variables;
  for (int i = 0; i < plan.variables(); ++i)
    variables += format("    <variable name=\"s{}\" layout=\"small\" store=\"false\"/>\n", i);
  for (int i = 0; i < plan.large; ++i) variables += format("    <variable name=\"l{}\" layout=\"large\" reduce=\"deflate\"/>\n", i);
  return format(
      "<simulation name=\"small-writes\">\n"
      "  <architecture><server start=\"manual\"/><buffer size=\"256MiB\" timeout=\"60s\"/></architecture>\n"
      "  <data>\n    <layout name=\"small\" type=\"uint8\" dimensions=\"{}\"/>\n"
      "    <layout name=\"large\" type=\"uint8\" dimensions=\"{}\"/>\n{}  </data>\n"
      "  <storage><hdf5 basename=\"{}\" exists=\"overwrite\"/></storage>\n"
      "</simulation>\n",
      kSmall, kLarge, variables, (folder / "out" / "run").string());
}

class Run {
 public:
  Run(const Folder& folder, const Plan& plan)
      : folder_(folder.path()), config_(folder.write("small.xml", xml(folder_, plan))), server_(made_out(folder_, config_), 1) {
    check(dc_initialize(config_.c_str(), 0));
    for (int i = 0; i < plan.variables(); ++i) {
      names_.push_back(format("s{}", i));
      small_.push_back(handle_of(names_.back()));
    }
    for (int i = 0; i < plan.large; ++i) large_.push_back(handle_of(format("l{}", i)));
  }
  ~Run() {
    const int code = dc_finalize();
    static_cast<void>(code);  // the figures have been reported already
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // The time of each write of the batch.
  double write_ns(int batch) {
    const Clock::time_point start = Clock::now();
    for (int i = batch * kBatch; i < (batch + 1) * kBatch; ++i)
      if (dc_write_to(small_[static_cast<std::size_t>(i)], step_, source_.next(kSmall)) < 0) check(DC_E_INTERNAL);
    return ns_of_one(start);
  }
  double write_by_name_ns(int batch) {
    const Clock::time_point start = Clock::now();
    for (int i = batch * kBatch; i < (batch + 1) * kBatch; ++i)
      if (dc_write(names_[static_cast<std::size_t>(i)].c_str(), step_, source_.next(kSmall)) < 0) check(DC_E_INTERNAL);
    return ns_of_one(start);
  }
  double copy_ns() {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kBatch; ++i) {
      std::memcpy(copy_.next(kSmall), source_.next(kSmall), kSmall);
      asm volatile("" ::: "memory");
    }
    return ns_of_one(start);
  }
  void write_large() {
    for (dc_variable_t* variable : large_) check(dc_write_to(variable, step_, source_.next(kLarge)));
    check(dc_end_iteration(step_++));
  }
  void end_step() { check(dc_end_iteration(step_++)); }
  void flush() {
    check(dc_flush(step_ - 1, kFlushMs));
    remove_step_files(folder_ / "out");
  }
  bool is_stored() const {
    dc_status_t status;
    check(dc_status(&status));
    return status.last_durable >= step_ - 1;
  }
  bool has_read_all() const {
    dc_status_t status;
    check(dc_status(&status));
    return status.events_waiting == 0;
  }

 private:
  static const std::string& made_out(const std::filesystem::path& folder, const std::string& config) {
    std::filesystem::create_directories(folder / "out");
    return config;
  }
  static double ns_of_one(Clock::time_point start) {
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / kBatch;
  }

  const std::filesystem::path folder_;
  const std::string config_;
  LocalServer server_;
  Circle source_ = Circle::private_memory(64 << 20), copy_ = Circle::shared_memory(64 << 20);
  std::vector<dc_variable_t*> small_, large_;
  std::vector<std::string> names_;  // of small_
  std::int64_t step_ = 0;
};

using Batches = std::vector<double>;

// The server has nothing to do and nothing to look for: a message of an open step does not wake it.
void asleep(Run& run, const Plan& plan, Batches& writes, Batches&) {
  run.write_ns(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (int batch = 1; batch < plan.batches; ++batch) writes.push_back(run.write_ns(batch));
}

// The end of a step has just woken it, so that it looks at the lane again and again.
void polling(Run& run, const Plan& plan, Batches& writes, Batches&) {
  for (int batch = 0; batch < plan.batches; ++batch) {
    const double one = run.write_ns(batch);
    if (batch > 0) writes.push_back(one);
    while (!run.has_read_all()) {
    }
  }
}

void compressing(Run& run, const Plan& plan, Batches& writes, Batches& too_late) {
  run.write_large();
  for (int batch = 0; batch < plan.batches; ++batch) {
    const double one = run.write_ns(batch);
    if (batch > 0) (run.is_stored() ? too_late : writes).push_back(one);
  }
}

// How much longer a write by name takes than one by handle, of the same hundred variables.
double added_by_name(Run& run) {
  constexpr int kPairs = 5;
  Batches by_handle, by_name;
  const auto rest = [&] {
    run.end_step();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  for (int pair = 0; pair < kPairs; ++pair) {
    by_handle.push_back(run.write_ns(0));
    rest();
    by_name.push_back(run.write_by_name_ns(0));
    rest();
  }
  return median(by_name) - median(by_handle);
}

}  // namespace

void measure_small_writes(bool quick, const Folder& folder, Report& report) {
  struct State {
    const char* name;
    void (*measure)(Run&, const Plan&, Batches&, Batches&);
    Batches writes = {}, too_late = {};
    std::vector<double> added = {};  // by round
  };
  const Plan plan = Plan::of(quick);
  std::vector<State> states = {{"asleep", asleep}, {"polls", polling}, {"compresses", compressing}};
  Batches copies;
  std::vector<double> by_name;
  {
    Run run(folder, plan);
    Progress progress("small writes");
    for (int round = 0; round < plan.rounds; ++round) {
      progress.show(round, plan.rounds);
      Batches of_round;
      for (int i = 0; i < plan.batches; ++i) of_round.push_back(run.copy_ns());
      for (State& state : states) {
        Batches writes;
        state.measure(run, plan, writes, state.too_late);
        run.end_step();
        run.flush();
        if (!writes.empty()) state.added.push_back(median(writes) - median(of_round));
        state.writes.insert(state.writes.end(), writes.begin(), writes.end());
        if (was_interrupted()) throw Interrupted();
      }
      by_name.push_back(added_by_name(run));
      run.flush();
      copies.insert(copies.end(), of_round.begin(), of_round.end());
    }
  }
  std::printf("\nwrites of %d B, batches of %d, ns each; memcpy %.1f\n%-20s %8s %10s %10s\n", static_cast<int>(kSmall), kBatch,
              median(copies), "", "batches", "median", "p99");
  for (const State& state : states) {
    std::printf("server %-13s %8zu %10.1f %10.1f\n", state.name, state.writes.size(), quantile(state.writes, 0.5),
                quantile(state.writes, 0.99));
    report.rows.push_back({format("64 B, server {}, ns beyond memcpy", state.name), estimate(state.added), true, 25, 10});
    report.details.push_back({{"server", state.name}, {"write_ns", state.writes}, {"too_late", state.too_late.size()}});
  }
  report.rows.push_back({"64 B by name, ns beyond a handle", estimate(by_name), true, 60, 40});
}

}  // namespace damaris::bench
