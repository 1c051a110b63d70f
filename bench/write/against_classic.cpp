#include "write/parts.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>

#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "progress.hpp"
#include "write/comparison.hpp"

namespace damaris::bench {
namespace {

constexpr double kLeastNs = 1;  // what 64 writes and two looks at the clock can distinguish

enum Way { kMemcpy, kWriteTo, kClassic };
constexpr std::array<const char*, 3> kNames = {"memcpy", "write_to", "classic parts"};
using Times = std::array<Samples, 3>;  // by way

struct Turn {
  std::size_t size;
  Way way;
};

std::vector<Turn> turns_of(const WritePlan& plan) {
  std::vector<Turn> turns;
  for (std::size_t size = 0; size < plan.sizes.size(); ++size)
    for (int repeat = 0; repeat < plan.sizes[size].repeats; ++repeat)
      for (const Way way : {kMemcpy, kWriteTo, kClassic}) turns.push_back({size, way});
  return turns;
}

Sample measure_turn(WriteClient& client, ClassicClient& classic, const Turn& turn) {
  if (turn.way == kMemcpy) return client.measure(Method::plain_memcpy, turn.size);
  if (turn.way == kWriteTo) {
    const Sample sample = client.measure(Method::write_to, turn.size);
    client.end_step(0);
    return sample;
  }
  const Sample sample = classic.measure(turn.size);
  classic.end_step();
  return sample;
}

std::vector<Times> measure_all(WriteClient& client, ClassicClient& classic, const WritePlan& plan) {
  Progress progress("classic parts");
  std::vector<Turn> turns = turns_of(plan);
  std::vector<Times> all(plan.sizes.size());
  std::mt19937 random(5);
  for (int round = 0; round < plan.warm_up + plan.rounds; ++round) {
    progress.show(round, plan.warm_up + plan.rounds);
    std::shuffle(turns.begin(), turns.end(), random);
    for (const Turn& turn : turns) {
      const Sample sample = measure_turn(client, classic, turn);
      if (round >= plan.warm_up) all[turn.size][turn.way].add(sample);
    }
  }
  return all;
}

// The median of each round's samples.
std::vector<double> by_round(const std::vector<double>& samples, int repeats) {
  std::vector<double> rounds;
  for (auto at = samples.begin(); at != samples.end(); at += repeats) rounds.push_back(median({at, at + repeats}));
  return rounds;
}

struct Beyond {
  std::vector<double> ours, classic, quotients;  // by round
};

Beyond beyond_memcpy(const SizeCase& size, const Times& times, std::vector<double> Samples::*clock) {
  const std::vector<double> plain = by_round(times[kMemcpy].*clock, size.repeats);
  Beyond beyond{by_round(times[kWriteTo].*clock, size.repeats), by_round(times[kClassic].*clock, size.repeats), {}};
  for (std::size_t round = 0; round < plain.size(); ++round) {
    beyond.ours[round] -= plain[round];
    beyond.classic[round] -= plain[round];
    beyond.quotients.push_back(beyond.classic[round] / std::max(beyond.ours[round], kLeastNs));
  }
  return beyond;
}

// A size at which a write costs less than the memcpy has none.
std::string quotient_text(const Beyond& beyond) {
  if (median(beyond.ours) < kLeastNs) return "-";
  const Estimate e = estimate(beyond.quotients);
  const auto narrow = [](double value) { return std::clamp(value, -99.9, 999.9); };  // the table has its limits
  return format("{:.1f} [{:.1f}, {:.1f}]", narrow(e.median), narrow(e.low), narrow(e.high));
}

void print_table(const WritePlan& plan, const std::vector<Times>& all) {
  std::printf("\nclassic parts (allocate, memcpy, send a message): wall time, median; server idle\n%58s\n", "beyond memcpy");
  std::printf("%8s %9s %9s %9s %9s %9s  %s\n", "", "memcpy", "write_to", "classic", "write_to", "classic", "times less");
  for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
    std::printf("%8s", size_text(plan.sizes[i].bytes).c_str());
    for (const Samples& samples : all[i]) std::printf(" %9s", time_text(median(samples.wall_ns)).c_str());
    const Beyond beyond = beyond_memcpy(plan.sizes[i], all[i], &Samples::wall_ns);
    std::printf(" %9s %9s  %s\n", time_text(median(beyond.ours)).c_str(), time_text(median(beyond.classic)).c_str(),
                quotient_text(beyond).c_str());
  }
}

void add_row(const SizeCase& size, const Times& times, Report& report) {
  if (size.bytes != 64) return;
  report.rows.push_back({"dc_write 64 B, time beyond memcpy: times less than the classic parts",
                         estimate(beyond_memcpy(size, times, &Samples::wall_ns).quotients), false, 4, 8,
                         median(beyond_memcpy(size, times, &Samples::cpu_ns).quotients)});
}

}  // namespace

void measure_against_classic_parts(WriteClient& client, ClassicClient& classic, const WritePlan& plan, Report& report) {
  const std::vector<Times> all = measure_all(client, classic, plan);
  print_table(plan, all);
  for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
    add_row(plan.sizes[i], all[i], report);
    for (std::size_t way = 0; way < kNames.size(); ++way)
      report.details.push_back(
          details({{"server", "idle"}, {"against", "classic parts"}, {"bytes", plan.sizes[i].bytes}, {"method", kNames[way]}},
                  all[i][way]));
  }
}

}  // namespace damaris::bench
