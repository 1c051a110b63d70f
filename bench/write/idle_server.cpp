#include "write/parts.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <thread>

#include "core/base/clock.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "progress.hpp"
#include "write/comparison.hpp"

namespace damaris::bench {
namespace {

using Table = std::vector<std::map<Method, Samples>>;  // by size

struct Turn {
  std::size_t size;
  Method method;
};

std::vector<Turn> turns_of(const WritePlan& plan) {
  std::vector<Turn> turns;
  for (std::size_t size = 0; size < plan.sizes.size(); ++size)
    for (int repeat = 0; repeat < plan.sizes[size].repeats; ++repeat)
      for (const Method method : kMethods) turns.push_back({size, method});
  return turns;
}

Table measure_all(WriteClient& client, const WritePlan& plan) {
  Progress progress("write");
  std::vector<Turn> turns = turns_of(plan);
  Table table(plan.sizes.size());
  std::mt19937 random(1);
  client.decide_copies();
  for (int round = 0; round < plan.warm_up + plan.rounds; ++round) {
    progress.show(round, plan.warm_up + plan.rounds);
    std::shuffle(turns.begin(), turns.end(), random);
    for (const Turn& turn : turns) {
      if (round % plan.sizes[turn.size].every != 0) continue;
      const Sample sample = client.measure(turn.method, turn.size);
      if (turn.method != Method::plain_memcpy) client.end_step(0);
      if (round >= plan.warm_up) table[turn.size][turn.method].add(sample);
    }
  }
  return table;
}

void print_table(const WritePlan& plan, Table& table, const char* title, std::vector<double> Samples::*clock) {
  std::printf("\n%s\n%8s %9s %9s %9s %13s  %s\n", title, "", "memcpy", "write_to", "by name", "alloc+commit",
              "write_to - or / memcpy");
  for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
    std::printf("%8s", size_text(plan.sizes[i].bytes).c_str());
    for (const Method method : kMethods)
      std::printf(method == Method::alloc_commit ? " %13s" : " %9s", time_text(median(table[i][method].*clock)).c_str());
    std::printf("  %s\n",
                comparison(plan.sizes[i].bytes, table[i][Method::write_to].*clock, table[i][Method::plain_memcpy].*clock).c_str());
  }
}

void add_rows(const WritePlan& plan, Table& table, Report& report) {
  Row large{"dc_write >= 1 MiB over memcpy", {}, true, 1.05, 0.80, 0};
  for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
    Samples& ours = table[i][Method::write_to];
    Samples& plain = table[i][Method::plain_memcpy];
    if (plan.sizes[i].bytes == 64)
      report.rows.push_back({"dc_write 64 B, ns added over memcpy", added(ours.wall_ns, plain.wall_ns), true, 60, 25,
                             added(ours.cpu_ns, plain.cpu_ns).median});
    if (plan.sizes[i].bytes < kLargeBytes) continue;
    const Estimate here = ratio(ours.wall_ns, plain.wall_ns);  // the worst size speaks for all
    if (here.median > large.ratio.median) large.ratio = here, large.cpu_ratio = ratio(ours.cpu_ns, plain.cpu_ns).median;
  }
  report.rows.push_back(large);
}

void add_details(const WritePlan& plan, Table& table, Report& report) {
  for (std::size_t i = 0; i < plan.sizes.size(); ++i)
    for (const Method method : kMethods)
      report.details.push_back(
          details({{"server", "idle"}, {"bytes", plan.sizes[i].bytes}, {"method", method_name(method)}}, table[i][method]));
}

}  // namespace

void measure_with_idle_server(WriteClient& client, const WritePlan& plan, Report& report) {
  Table table = measure_all(client, plan);
  print_table(plan, table, "wall time of a write, median; server idle", &Samples::wall_ns);
  print_table(plan, table, "processor time of a write, median; server idle", &Samples::cpu_ns);
  add_rows(plan, table, report);
  add_details(plan, table, report);
}

Row measure_idle_server(const LocalServer& server, int windows, int window_ms) {
  Progress progress("idle server");
  std::vector<double> percent;
  for (int window = 0; window < windows; ++window) {
    progress.show(window, windows);
    const double cpu = server.cpu_ns();
    const Clock::time_point start = Clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(window_ms));
    percent.push_back((server.cpu_ns() - cpu) / (seconds_since(start) * 1e9) * 100);
  }
  return {"idle server, % of a core", estimate(percent), true, 1, 0.5, 0};
}

}  // namespace damaris::bench
