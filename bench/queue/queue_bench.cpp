#include "verbs.hpp"

#include <cstdio>
#include <random>

#include "core/base/format.hpp"
#include "progress.hpp"
#include "queue/queues.hpp"

namespace damaris::bench {
namespace {

constexpr int kMostProducers = 3;

struct Pairs {
  Samples lanes, boost;
  std::vector<double> faster, cpu_faster;
};

void measure_pair(int producers, std::int64_t messages, bool lanes_first, Pairs& pairs) {
  Sample lanes, boost;
  if (lanes_first) lanes = run_lanes(producers, messages);
  boost = run_message_queue(producers, messages);
  if (!lanes_first) lanes = run_lanes(producers, messages);
  pairs.lanes.add(lanes);
  pairs.boost.add(boost);
  pairs.faster.push_back(boost.wall_ns / lanes.wall_ns);
  pairs.cpu_faster.push_back(boost.cpu_ns / lanes.cpu_ns);
}

void print_line(int producers, const char* name, const Samples& samples) {
  std::printf("%9d  %-20s %10s %10s %10s\n", producers, name, time_text(quantile(samples.wall_ns, 0)).c_str(),
              time_text(median(samples.wall_ns)).c_str(), time_text(median(samples.cpu_ns)).c_str());
}

void add_details(int producers, const char* name, const Samples& samples, Report& report) {
  report.details.push_back({{"producers", producers},
                            {"queue", name},
                            {"samples", samples.wall_ns.size()},
                            {"wall_ns", {{"median", median(samples.wall_ns)}, {"best", quantile(samples.wall_ns, 0)}}},
                            {"cpu_ns", {{"median", median(samples.cpu_ns)}, {"best", quantile(samples.cpu_ns, 0)}}}});
}

}  // namespace

Report run_queue(bool quick) {
  const int rounds = quick ? 3 : 25;
  const std::int64_t messages = quick ? 20'000 : 300'000;
  std::vector<Pairs> all(kMostProducers + 1);
  {
    Progress progress("queue");
    std::mt19937 random(3);
    for (int round = 0; round < rounds; ++round) {
      progress.show(round, rounds);
      for (int producers = 1; producers <= kMostProducers; ++producers)
        measure_pair(producers, messages / producers, (random() & 1) != 0, all[static_cast<std::size_t>(producers)]);
    }
  }
  std::printf("\na message of 64 bytes, producers on one core, consumer on another\n%9s  %-20s %10s %10s %10s\n", "producers", "",
              "best", "median", "cpu");
  Report report;
  for (int producers = 1; producers <= kMostProducers; ++producers) {
    const Pairs& pairs = all[static_cast<std::size_t>(producers)];
    print_line(producers, "lane", pairs.lanes);
    print_line(producers, "boost message_queue", pairs.boost);
    add_details(producers, "lane", pairs.lanes, report);
    add_details(producers, "boost message_queue", pairs.boost, report);
    report.rows.push_back({format("event against boost message_queue, {} producer{}", producers, producers > 1 ? "s" : ""),
                           estimate(pairs.faster), false, 4, 8, median(pairs.cpu_faster)});
  }
  return report;
}

}  // namespace damaris::bench
