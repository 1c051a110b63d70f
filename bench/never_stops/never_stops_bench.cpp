#include <damaris/damaris.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "folder.hpp"
#include "local_server.hpp"
#include "machine.hpp"
#include "memory.hpp"
#include "never_stops/calls.hpp"
#include "never_stops/slow_target.hpp"
#include "never_stops/small_writes.hpp"
#include "progress.hpp"
#include "statistics.hpp"
#include "verbs.hpp"

namespace damaris::bench {
namespace {

constexpr int kVariables = 8;

struct Plan {
  std::uint64_t variable_bytes;
  double interval_s;  // from one write phase to the next
  double hang_s;
  int rounds;
  int writes;  // of the step with many
  static Plan of(bool quick) { return quick ? Plan{128 << 10, 0.01, 0.3, 1, 2000} : Plan{1 << 20, 0.05, 10, 2, 10'000}; }
  std::uint64_t phase_bytes() const { return variable_bytes * kVariables; }
  std::uint64_t buffer_bytes() const { return 8 * phase_bytes(); }
  int phases_of_a_hang() const { return static_cast<int>(hang_s / interval_s); }
};

double ns_since(Clock::time_point start) { return std::chrono::duration<double, std::nano>(Clock::now() - start).count(); }

std::string xml(const std::filesystem::path& folder, std::uint64_t buffer_bytes, const std::string& variables) {
  return format(
      "<simulation name=\"never-stops\">\n"
      "  <architecture>\n    <server start=\"manual\" finalize-timeout=\"120s\"/>\n"
      "    <buffer size=\"{}\" timeout=\"60s\" on-full=\"block spill\" spill=\"{}\" spill-size=\"64GiB\"/>\n  </architecture>\n"
      "  <data>\n{}  </data>\n"
      "  <storage><hdf5 basename=\"{}\" exists=\"overwrite\"/></storage>\n"
      "  <actions><event name=\"sleep\" action=\"sleep_a_while\" using=\"{}\" scope=\"core\"/></actions>\n"
      "</simulation>\n",
      buffer_bytes, (folder / "spill").string(), variables, (folder / "out" / "run").string(),
      bench_library("damaris_bench_sleeping_action.so").string());
}

std::string variables_of(int count, std::uint64_t bytes) {
  std::string text = format("    <layout name=\"block\" type=\"uint8\" dimensions=\"{}\"/>\n", bytes);
  for (int i = 0; i < count; ++i) text += format("    <variable name=\"v{}\" layout=\"block\"/>\n", i);
  return text;
}

// One client of a server of its own, and what both need on disk.
class Run {
 public:
  Run(const Folder& folder, std::uint64_t buffer_bytes, int variables, std::uint64_t bytes)
      : folder_(folder.path()),
        bytes_(bytes),
        config_(folder.write("run.xml", xml(folder.path(), buffer_bytes, variables_of(variables, bytes)))),
        target_(prepared(folder_)),
        server_(config_, 1),
        source_(Circle::private_memory(256 << 20)),
        copy_(Circle::shared_memory(256 << 20)) {
    check(dc_initialize(config_.c_str(), 0));
    for (int i = 0; i < variables; ++i) handles_.push_back(handle_of(format("v{}", i)));
  }
  ~Run() {
    const int code = dc_finalize();
    static_cast<void>(code);  // the figures have been reported already
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  SlowTarget& target() { return target_; }
  std::int64_t step() const { return step_; }
  // Writes all variables in a step and ends it; the time of all, or of each.
  double write_all() {
    const Clock::time_point start = Clock::now();
    for (dc_variable_t* handle : handles_) check(dc_write_to(handle, step_, source_.next(bytes_)));
    check(dc_end_iteration(step_++));
    return ns_since(start);
  }
  std::vector<double> write_each() {
    std::vector<double> times;
    times.reserve(handles_.size());
    for (dc_variable_t* handle : handles_) {
      const std::byte* const source = source_.next(bytes_);
      const Clock::time_point start = Clock::now();
      const int code = dc_write_to(handle, step_, source);
      times.push_back(ns_since(start));
      check(code);
    }
    check(dc_end_iteration(step_++));
    return times;
  }
  double copy_all() {
    const Clock::time_point start = Clock::now();
    for (std::size_t i = 0; i < handles_.size(); ++i) std::memcpy(copy_.next(bytes_), source_.next(bytes_), bytes_);
    return ns_since(start);
  }
  // The same, one at a time.
  std::vector<double> copy_each() {
    std::vector<double> times;
    for (std::size_t i = 0; i < handles_.size(); ++i) {
      std::byte *const to = copy_.next(bytes_), *const from = source_.next(bytes_);
      const Clock::time_point start = Clock::now();
      std::memcpy(to, from, bytes_);
      times.push_back(ns_since(start));
    }
    return times;
  }
  void signal_sleep() { check(dc_signal("sleep", step_)); }
  void flush() { check(dc_flush(step_ - 1, kFlushMs)); }
  void remove_files() const { remove_step_files(folder_ / "out"); }

 private:
  static const std::filesystem::path& prepared(const std::filesystem::path& folder) {
    for (const char* name : {"out", "spill"}) std::filesystem::create_directories(folder / name);
    return folder;
  }

  const std::filesystem::path folder_;
  const std::uint64_t bytes_;
  const std::string config_;
  SlowTarget target_;
  LocalServer server_;
  Circle source_, copy_;
  std::vector<dc_variable_t*> handles_;
  std::int64_t step_ = 0;
};

struct Phases {
  std::vector<double> write_ns, copy_ns;
};

// Write phases at even intervals, as a simulation has them; it computes in between, and copies as much once for comparison.
void run_phases(Run& run, const Plan& plan, int count, Phases& phases) {
  for (int phase = 0; phase < count; ++phase) {
    const Clock::time_point start = Clock::now();
    phases.write_ns.push_back(run.write_all());
    phases.copy_ns.push_back(run.copy_all());
    if (phase % 20 == 0) run.remove_files();
    while (ns_since(start) < plan.interval_s * 1e9) {
    }
    if (was_interrupted()) throw Interrupted();
  }
}

struct Trouble {
  const char* name;
  const char* row;
  std::function<void(Run&)> begin, end;
  Phases quiet = {}, troubled = {};
  std::vector<double> of_quiet = {}, of_memcpy = {};  // by round: p99 of p99; slowest of the median copy
};

void one_round(Run& run, const Plan& plan, Trouble& trouble) {
  Phases quiet, troubled;
  run_phases(run, plan, plan.phases_of_a_hang(), quiet);
  run.flush();
  trouble.begin(run);
  run_phases(run, plan, plan.phases_of_a_hang(), troubled);
  trouble.end(run);
  run.flush();
  run.remove_files();
  trouble.of_quiet.push_back(quantile(troubled.write_ns, 0.99) / quantile(quiet.write_ns, 0.99));
  trouble.of_memcpy.push_back(quantile(troubled.write_ns, 1) / median(troubled.copy_ns));
  const auto add = [](std::vector<double>& to, const std::vector<double>& from) { to.insert(to.end(), from.begin(), from.end()); };
  for (const auto& [all, one] : {std::pair(&trouble.quiet, &quiet), std::pair(&trouble.troubled, &troubled)}) {
    add(all->write_ns, one->write_ns);
    add(all->copy_ns, one->copy_ns);
  }
}

std::vector<Trouble> troubles(const Plan& plan) {
  const double rate = static_cast<double>(plan.phase_bytes()) / plan.interval_s / 10;
  return {
      {"storage hangs", "write phase while the storage hangs {:.3g} s, p99 of quiet",
       [&plan](Run& run) { run.target().hang(plan.hang_s); }, [](Run&) {}},
      {"plugin sleeps", "write phase while a plugin sleeps {:.3g} s, p99 of quiet", [](Run& run) { run.signal_sleep(); },
       [](Run&) {}},
      {"tenth of the rate", "storage at a tenth of the output, slowest phase of memcpy",
       [rate](Run& run) { run.target().set_rate(static_cast<std::uint64_t>(rate)); }, [](Run& run) { run.target().set_rate(0); }}};
}

void print_phases(const char* name, const Phases& phases) {
  const auto ms = [&](double q) { return quantile(phases.write_ns, q) / 1e6; };
  std::printf("%-20s %8zu %10.2f %10.2f %10.2f %14.2f\n", name, phases.write_ns.size(), ms(0.5), ms(0.99), ms(1),
              median(phases.copy_ns) / 1e6);
}

void report_trouble(const Plan& plan, const Trouble& trouble, Report& report) {
  print_phases("quiet", trouble.quiet);
  print_phases(trouble.name, trouble.troubled);
  const bool is_slow = std::strcmp(trouble.name, "tenth of the rate") == 0;
  report.rows.push_back({fmt::format(fmt::runtime(trouble.row), plan.hang_s),
                         estimate(is_slow ? trouble.of_memcpy : trouble.of_quiet), true, is_slow ? 10 : 1.5, is_slow ? 3 : 1.1});
  for (const auto& [state, phases] : {std::pair("quiet", &trouble.quiet), std::pair("troubled", &trouble.troubled)})
    report.details.push_back({{"trouble", trouble.name},
                              {"state", state},
                              {"bytes", plan.phase_bytes()},
                              {"interval_s", plan.interval_s},
                              {"write_ns", phases->write_ns},
                              {"memcpy_ns", phases->copy_ns}});
}

void with_troubles(const Plan& plan, const Folder& folder, Report& report) {
  ::setenv("DAMARIS_BENCH_SLEEP_MS", format("{:.0f}", plan.hang_s * 1000).c_str(), 1);
  Run run(folder, plan.buffer_bytes(), kVariables, plan.variable_bytes);
  Phases ignored;
  run_phases(run, plan, 10, ignored);
  std::vector<Trouble> all = troubles(plan);
  {
    Progress progress("write phases");
    for (int round = 0; round < plan.rounds; ++round)
      for (std::size_t i = 0; i < all.size(); ++i) {
        progress.show(round * static_cast<int>(all.size()) + static_cast<int>(i), plan.rounds * static_cast<int>(all.size()));
        one_round(run, plan, all[i]);
      }
  }
  std::printf("\nwrite phases of %s every %.0f ms, a buffer of %s, spill to a local disk\nms %17s%8s %10s %10s %10s %14s\n",
              size_text(plan.phase_bytes()).c_str(), plan.interval_s * 1e3, size_text(plan.buffer_bytes()).c_str(), "", "phases",
              "median", "p99", "slowest", "memcpy, median");
  for (const Trouble& trouble : all) report_trouble(plan, trouble, report);
}

// While the storage hangs in the step before.
void with_many_writes(const Plan& plan, const Folder& folder, Report& report) {
  constexpr std::uint64_t kBytes = 1024;
  const int rounds = plan.rounds * 10;
  std::vector<double> longest_us, all_ns;
  {
    Run run(folder, std::uint64_t{8} * static_cast<std::uint64_t>(plan.writes) * (kBytes + 256), plan.writes, kBytes);
    Progress progress("many writes");
    for (int round = 0; round < rounds; ++round) {
      progress.show(round, rounds);
      run.target().hang(plan.hang_s / 20);
      run.write_all();
      const std::vector<double> copies = run.copy_each(), writes = run.write_each();
      all_ns.insert(all_ns.end(), writes.begin(), writes.end());
      longest_us.push_back((quantile(writes, 1) - median(copies)) / 1e3);
      run.flush();
      run.remove_files();
    }
  }
  std::printf("\n%d writes of %s in a step, while the storage hangs with the step before;\nns: median %.0f, p99.9 %.0f\n",
              plan.writes, size_text(kBytes).c_str(), median(all_ns), quantile(all_ns, 0.999));
  std::printf("longest of each step, us beyond memcpy: median %.1f, best %.1f, worst %.1f\n", median(longest_us),
              quantile(longest_us, 0), quantile(longest_us, 1));
  report.rows.push_back({format("longest of {} writes beyond its memcpy, us", plan.writes), estimate(longest_us), true, 1000, 100});
  report.details.push_back({{"writes", plan.writes}, {"bytes", kBytes}, {"longest_us", longest_us}});
}

}  // namespace

Report run_never_stops(bool quick, const std::string& parent) {
  if (!pin_to_client_core()) std::printf("only one core: client and server share it, so times include waiting for it\n");
  const Plan plan = Plan::of(quick);
  Report report;
  with_troubles(plan, Folder(parent), report);
  with_many_writes(plan, Folder(parent), report);
  measure_small_writes(quick, Folder(parent), report);
  return report;
}

}  // namespace damaris::bench
