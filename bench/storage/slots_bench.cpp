#include "verbs.hpp"

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

#include "core/base/format.hpp"
#include "folder.hpp"
#include "progress.hpp"
#include "statistics.hpp"
#include "storage/server_group.hpp"
#include "storage/throttle.hpp"

namespace damaris::bench {
namespace {

struct Schedule {
  const char* name;
  std::vector<double> rates = {}, medians = {}, worst = {};  // of each round: MB/s while the target was busy; seconds
};

void one_round(Schedule& schedule, GroupPlan plan, const Bottleneck& bottleneck, const std::string& folder) {
  const Throttle throttle(bottleneck);
  plan.schedule = schedule.name;
  const std::vector<double> writes = run_group(plan, folder);
  schedule.rates.push_back(static_cast<double>(throttle.bytes()) / throttle.busy_s() / 1e6);
  schedule.medians.push_back(median(writes));
  schedule.worst.push_back(quantile(writes, 1));
}

std::vector<double> quotients(const std::vector<double>& ours, const std::vector<double>& base) {
  std::vector<double> result;
  for (std::size_t i = 0; i < ours.size(); ++i) result.push_back(ours[i] / base[i]);
  return result;
}

}  // namespace

Report run_slots(bool quick, const std::string& parent) {
  const Folder folder(parent);
  const Bottleneck bottleneck{400e6, 0.0002};
  const GroupPlan plan{4, quick ? 4 : 12, quick ? 0.2 : 0.8, std::uint64_t{quick ? 4U : 32U} << 20, ""};
  std::vector<Schedule> schedules = {{"immediate"}, {"slots"}, {"coordinated"}};
  {
    Progress progress("slots");
    const int rounds = quick ? 1 : 5;
    std::vector<std::size_t> order = {0, 1, 2};
    std::mt19937 random(4);
    for (int round = 0; round < rounds; ++round) {
      std::shuffle(order.begin(), order.end(), random);
      for (std::size_t i = 0; i < order.size(); ++i) {
        progress.show(round * 3 + static_cast<int>(i), rounds * 3);
        one_round(schedules[order[i]], plan, bottleneck, folder.path().string());
      }
    }
  }
  std::printf(
      "\n%d servers write %.0f MB each every %.1f s to one target:\n%.0f MB/s, %.1f ms for each change of the writer\n\n%-14s %16s "
      "%12s %12s\n",
      plan.servers, static_cast<double>(plan.bytes) / 1e6, plan.interval_s, bottleneck.bytes_per_s / 1e6, bottleneck.switch_s * 1e3,
      "schedule", "MB/s when busy", "write, s", "worst, s");
  Report report;
  for (const Schedule& schedule : schedules) {
    std::printf("%-14s %16.0f %12.3f %12.3f\n", schedule.name, median(schedule.rates), median(schedule.medians),
                quantile(schedule.worst, 1));
    report.details.push_back({{"schedule", schedule.name},
                              {"mb_per_busy_s", schedule.rates},
                              {"write_s", schedule.medians},
                              {"worst_write_s", schedule.worst}});
    if (&schedule == schedules.data()) continue;
    report.rows.push_back(
        {format("{}: target's rate", schedule.name), estimate(quotients(schedule.rates, schedules[0].rates)), false, 1.2, 1.5});
    report.rows.push_back(
        {format("{}: worst write", schedule.name), estimate(quotients(schedule.worst, schedules[0].worst)), true, 0.6, 0.4});
  }
  return report;
}

}  // namespace damaris::bench
