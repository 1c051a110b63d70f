#include "tools/replay/evaluation.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "tools/check/text_table.hpp"
#include "tools/replay/sums.hpp"

namespace damaris::replay {
namespace {

// The operations that wait longest, the longest first.
std::vector<std::uint32_t> longest_waits(const Times& times, std::size_t most) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < times.waits.size(); ++i)
    if (times.waits[i] > 0) found.push_back(i);
  most = std::min(most, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(most), found.end(),
                    [&times](std::uint32_t a, std::uint32_t b) {
                      return times.waits[a] != times.waits[b] ? times.waits[a] > times.waits[b] : a < b;
                    });
  found.resize(most);
  return found;
}

std::string kinds_table(const Plan& plan, const Times& times) {
  std::vector<check::Row> rows;
  const KindSums sums = sums_of(plan, times);
  for (std::size_t kind = 0; kind < sums.size(); ++kind) {
    const KindSum& sum = sums[kind];
    if (sum.operations > 0)
      rows.push_back({word_of(static_cast<Kind>(kind)), format("{}", sum.operations), sum.bytes > 0 ? format("{}", sum.bytes) : "",
                      seconds_text(seconds(sum.ns)), sum.wait_ns > 0 ? seconds_text(seconds(sum.wait_ns)) : ""});
  }
  return check::table({"kind", "operations", "bytes", "seconds", "of waiting"}, rows, {1, 2, 3, 4});
}

}  // namespace

std::string evaluation_text(const Plan& plan, const Times& times) {
  std::string text = format("{}: {} processes, {} operations, {} files\nvirtual time {} s", plan.name, plan.processes.size(),
                            plan.operations.size(), plan.files.size(), seconds_text(seconds(times.total)));
  if (plan.recorded_ns > 0)
    text += format(", recorded {} s ({})", seconds_text(seconds(plan.recorded_ns)),
                   percent_text(seconds(times.total), seconds(plan.recorded_ns)));
  text += "\n\n" + kinds_table(plan, times);
  std::vector<check::Row> rows;
  for (const std::uint32_t i : longest_waits(times, 5))
    rows.push_back({format("{}", plan.operations[i].line), format("{}", plan.processes[plan.process_of(i)].number), plan.text_of(i),
                    seconds_text(seconds(times.waits[i]))});
  if (!rows.empty()) text += "\nthe longest waits\n" + check::table({"line", "process", "operation", "seconds"}, rows, {0, 1, 3});
  return text;
}

Json evaluation_json(const Plan& plan, const Times& times) {
  Json processes = Json::array(), kinds = Json::array(), waits = Json::array();
  for (std::size_t i = 0; i < plan.processes.size(); ++i) {
    const Process& one = plan.processes[i];
    const auto first = times.waits.begin();
    processes.push_back({{"process", one.number},
                         {"seconds", seconds(times.ends[i])},
                         {"wait_seconds", seconds(std::accumulate(first + one.begin, first + one.end, std::uint64_t{0}))}});
  }
  const KindSums sums = sums_of(plan, times);
  for (std::size_t kind = 0; kind < sums.size(); ++kind)
    if (const KindSum& sum = sums[kind]; sum.operations > 0)
      kinds.push_back({{"kind", word_of(static_cast<Kind>(kind))},
                       {"operations", sum.operations},
                       {"bytes", sum.bytes},
                       {"seconds", seconds(sum.ns)},
                       {"wait_seconds", seconds(sum.wait_ns)}});
  for (const std::uint32_t i : longest_waits(times, 100))
    waits.push_back({{"line", plan.operations[i].line},
                     {"process", plan.processes[plan.process_of(i)].number},
                     {"operation", plan.text_of(i)},
                     {"seconds", seconds(times.waits[i])}});
  return {{"plan", plan.name},
          {"layer", plan.layer},
          {"recorded_seconds", seconds(plan.recorded_ns)},
          {"evaluated_seconds", seconds(times.total)},
          {"processes", processes},
          {"kinds", kinds},
          {"longest_waits", waits}};
}

}  // namespace damaris::replay
