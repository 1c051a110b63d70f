#include "write/idle_server.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <random>

#include "core/base/format.hpp"
#include "core/base/units.hpp"
#include "progress.hpp"
#include "write/classic_rows.hpp"
#include "write/measured.hpp"

namespace damaris::bench {
namespace {

struct Turn {
  std::size_t size;
  std::optional<Method> method;  // nothing: the classic parts
};

std::vector<Turn> turns_of(const WritePlan& plan) {
  std::vector<Turn> turns;
  for (std::size_t size = 0; size < plan.sizes.size(); ++size)
    for (int repeat = 0; repeat < plan.sizes[size].repeats; ++repeat) {
      for (const Method method : kMethods) turns.push_back({size, method});
      if (plan.sizes[size].bytes <= kClassicMostBytes) turns.push_back({size, {}});
    }
  return turns;
}

Sample measure_turn(WriteClient& client, ClassicClient& classic, const Turn& turn) {
  if (!turn.method) {
    const Sample sample = classic.measure(turn.size);
    classic.end_step();
    return sample;
  }
  const Sample sample = client.measure(*turn.method, turn.size);
  if (*turn.method != Method::plain_memcpy) client.end_step(0);
  return sample;
}

Measured measure_all(WriteClient& client, ClassicClient& classic, const WritePlan& plan) {
  Progress progress("write");
  std::vector<Turn> turns = turns_of(plan);
  Measured measured(plan.sizes.size());
  std::mt19937 random(1);
  for (int round = 0; round < plan.warm_up + plan.rounds; ++round) {
    progress.show(round, plan.warm_up + plan.rounds);
    std::shuffle(turns.begin(), turns.end(), random);
    for (const Turn& turn : turns) {
      if (round % plan.sizes[turn.size].every != 0) continue;
      const Sample sample = measure_turn(client, classic, turn);
      if (round < plan.warm_up) continue;
      SizeTimes& times = measured[turn.size];
      (turn.method ? times.ways[*turn.method] : times.classic).add(sample);
    }
  }
  return measured;
}

void print_table(const WritePlan& plan, Measured& measured, const char* title, std::vector<double> Samples::*clock) {
  std::printf("\n%s\n%8s %9s %9s %9s %13s  %s\n", title, "", "memcpy", "write_to", "by name", "alloc+commit",
              "write_to - or / memcpy");
  for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
    std::map<Method, Samples>& ways = measured[i].ways;
    std::printf("%8s", size_text(plan.sizes[i].bytes).c_str());
    for (const Method method : kMethods)
      std::printf(method == Method::alloc_commit ? " %13s" : " %9s", time_text(median(ways[method].*clock)).c_str());
    std::printf("  %s\n",
                comparison(plan.sizes[i].bytes, ways[Method::write_to].*clock, ways[Method::plain_memcpy].*clock).c_str());
  }
}

void add_small_rows(const WritePlan& plan, Measured& measured, Report& report) {
  for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
    if (plan.sizes[i].bytes != 64) continue;
    const Samples& ours = measured[i].ways[Method::write_to];
    const Samples& plain = measured[i].ways[Method::plain_memcpy];
    report.rows.push_back({"dc_write 64 B, ns added over memcpy", added(ours.wall_ns, plain.wall_ns), true, 60, 25,
                           added(ours.cpu_ns, plain.cpu_ns).median});
    report.rows.push_back(classic_row(plan.sizes[i], measured[i]));
  }
}

void add_large_row(const WritePlan& plan, Measured& measured, Report& report) {
  Row large{"dc_write >= 1 MiB over memcpy", {}, true, 1.05, 0.80, 0};
  for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
    if (plan.sizes[i].bytes < kLargeBytes) continue;
    const Samples& ours = measured[i].ways[Method::write_to];
    const Samples& plain = measured[i].ways[Method::plain_memcpy];
    const Estimate here = ratio(ours.wall_ns, plain.wall_ns);  // the worst size speaks for all
    if (here.median > large.ratio.median) large.ratio = here, large.cpu_ratio = ratio(ours.cpu_ns, plain.cpu_ns).median;
  }
  report.rows.push_back(large);
}

void add_details(const WritePlan& plan, Measured& measured, Report& report) {
  for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
    const auto add = [&](const char* method, const Samples& samples) {
      report.details.push_back(details({{"server", "idle"}, {"bytes", plan.sizes[i].bytes}, {"method", method}}, samples));
    };
    for (const Method method : kMethods) add(method_name(method), measured[i].ways[method]);
    if (!measured[i].classic.wall_ns.empty()) add("classic parts", measured[i].classic);
  }
}

}  // namespace

void measure_with_idle_server(WriteClient& client, ClassicClient& classic, const WritePlan& plan, Report& report) {
  Measured measured = measure_all(client, classic, plan);
  print_table(plan, measured, "wall time of a write, median; server idle", &Samples::wall_ns);
  print_table(plan, measured, "processor time of a write, median; server idle", &Samples::cpu_ns);
  print_classic_table(plan, measured);
  add_small_rows(plan, measured, report);
  add_large_row(plan, measured, report);
  add_details(plan, measured, report);
}

}  // namespace damaris::bench
