#include "write/classic_rows.hpp"

#include <algorithm>
#include <cstdio>

#include "core/base/format.hpp"
#include "core/base/units.hpp"

namespace damaris::bench {
namespace {

constexpr double kLeastNs = 1;  // what 64 writes and two looks at the clock can tell apart

// The median of each round's samples.
std::vector<double> by_round(const std::vector<double>& samples, int repeats) {
  std::vector<double> rounds;
  for (auto at = samples.begin(); at != samples.end(); at += repeats) rounds.push_back(median({at, at + repeats}));
  return rounds;
}

struct Beyond {
  std::vector<double> classic, ours, quotients;  // by round
};

Beyond beyond_memcpy(const SizeCase& size, SizeTimes& times, std::vector<double> Samples::*clock) {
  const std::vector<double> plain = by_round(times.ways[Method::plain_memcpy].*clock, size.repeats);
  Beyond beyond{by_round(times.classic.*clock, size.repeats), by_round(times.ways[Method::write_to].*clock, size.repeats), {}};
  for (std::size_t round = 0; round < plain.size(); ++round) {
    beyond.classic[round] -= plain[round];
    beyond.ours[round] -= plain[round];
    beyond.quotients.push_back(beyond.classic[round] / std::max(beyond.ours[round], kLeastNs));
  }
  return beyond;
}

std::string quotient_text(const Beyond& beyond) {
  if (median(beyond.ours) < kLeastNs) return "-";
  const Estimate e = estimate(beyond.quotients);
  return format("{:.3g} [{:.3g}, {:.3g}]", e.median, e.low, e.high);
}

}  // namespace

Row classic_row(const SizeCase& size, SizeTimes& times) {
  return {format("dc_write {}, time beyond memcpy: times less than the classic parts", size_text(size.bytes)),
          estimate(beyond_memcpy(size, times, &Samples::wall_ns).quotients),
          false,
          4,
          8,
          median(beyond_memcpy(size, times, &Samples::cpu_ns).quotients)};
}

void print_classic_table(const WritePlan& plan, Measured& measured) {
  std::printf("\nthe classic parts: allocate, memcpy, send a message; wall time, median; server idle\n");
  std::printf("%61s\n", "beyond memcpy");
  std::printf("%8s %9s %9s %9s  %10s %11s  %s\n", "", "memcpy", "write_to", "classic", "write_to", "classic", "times less");
  for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
    SizeTimes& times = measured[i];
    if (times.classic.wall_ns.empty()) continue;
    const Beyond beyond = beyond_memcpy(plan.sizes[i], times, &Samples::wall_ns);
    std::printf("%8s %9s %9s %9s  %10s %11s  %s\n", size_text(plan.sizes[i].bytes).c_str(),
                time_text(median(times.ways[Method::plain_memcpy].wall_ns)).c_str(),
                time_text(median(times.ways[Method::write_to].wall_ns)).c_str(), time_text(median(times.classic.wall_ns)).c_str(),
                time_text(median(beyond.ours)).c_str(), time_text(median(beyond.classic)).c_str(), quotient_text(beyond).c_str());
  }
}

}  // namespace damaris::bench
