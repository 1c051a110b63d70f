#include "tools/replay/error_report.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "tools/check/text_table.hpp"

namespace damaris::replay {
namespace {

constexpr std::size_t kShownProcesses = 8;

Spread spread_of(std::vector<std::uint64_t>& values) {
  return {quantile(values, 0.5), quantile(values, 0.99), quantile(values, 1)};
}

double seconds_of(const KindSum& sum) { return seconds(sum.ns + sum.wait_ns); }

unsigned cores() { return std::max(1U, std::thread::hardware_concurrency()); }

std::string spread_text(const Spread& spread) {
  return format("p50 {} s, p99 {} s, at most {} s", seconds_text(seconds(spread.p50)), seconds_text(seconds(spread.p99)),
                seconds_text(seconds(spread.most)));
}

Json spread_json(const Spread& spread) {
  return {{"p50", seconds(spread.p50)}, {"p99", seconds(spread.p99)}, {"most", seconds(spread.most)}};
}

}  // namespace

ErrorReport::ErrorReport(const Plan& plan, const Times& times, std::string folder)
    : plan_(plan),
      times_(times),
      folder_(std::move(folder)),
      planned_(sums_of(plan, times)),
      crowded_(crowded_share(plan, times, cores())) {}

void ErrorReport::add(const Played& played) {
  Repetition one;
  const Times real = evaluate(plan_, &played.io_ns);
  one.total = played.total;
  one.short_reads = played.short_reads;
  one.ends = played.ends;
  one.kinds = sums_of(plan_, real, &played.io_ns);
  std::vector<std::uint64_t> begins(plan_.operations.size()), late, off;
  for_each_time(plan_, times_, nullptr, [&](std::uint32_t i, std::uint64_t begin, std::uint64_t) { begins[i] = begin; });
  for_each_time(plan_, real, &played.io_ns, [&](std::uint32_t i, std::uint64_t begin, std::uint64_t) {
    if (!is_io(plan_.operations[i].kind)) return;
    begin += played.late[i];
    late.push_back(played.late[i]);
    off.push_back(begin > begins[i] ? begin - begins[i] : begins[i] - begin);
  });
  one.late = spread_of(late);
  one.off = spread_of(off);
  repetitions_.push_back(std::move(one));
}

template <class Value>
ErrorReport::Compared ErrorReport::compared(double planned, Value value) const {
  Compared result{planned};
  std::vector<double> values;
  for (const Repetition& one : repetitions_) {
    values.push_back(value(one));
    result.largest = std::max(result.largest, std::abs(values.back() - planned));
  }
  std::sort(values.begin(), values.end());
  result.replayed = (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
  return result;
}

ErrorReport::Compared ErrorReport::total() const {
  return compared(seconds(plan_.recorded_ns > 0 ? plan_.recorded_ns : times_.total),
                  [](const Repetition& one) { return seconds(one.total); });
}
ErrorReport::Compared ErrorReport::process(std::size_t index) const {
  return compared(seconds(times_.ends[index]), [index](const Repetition& one) { return seconds(one.ends[index]); });
}
ErrorReport::Compared ErrorReport::kind(std::size_t index) const {
  return compared(seconds_of(planned_[index]), [index](const Repetition& one) { return seconds_of(one.kinds[index]); });
}

// The largest of each repetition.
Spread ErrorReport::spread(Spread Repetition::*which) const {
  Spread result;
  for (const Repetition& one : repetitions_) {
    const Spread& other = one.*which;
    result = {std::max(result.p50, other.p50), std::max(result.p99, other.p99), std::max(result.most, other.most)};
  }
  return result;
}

std::vector<std::string> ErrorReport::notes() const {
  std::vector<std::string> notes;
  if (crowded_ > 0)
    notes.push_back(
        format("In {:.0f} % of the time more processes compute at once than there are cores here ({}). They sleep in a replay, and "
               "so do not "
               "compete for the cores: the gaps are as long as they were recorded.",
               std::max(1.0, 100 * crowded_), cores()));
  std::uint64_t short_reads = 0;
  for (const Repetition& one : repetitions_) short_reads = std::max(short_reads, one.short_reads);
  if (short_reads > 0)
    notes.push_back(
        format("{} reads met the end of a file before it had been written so far: the plan does not say what they wait for.",
               short_reads));
  const auto is_untimed = [](const Operation& one) { return is_io(one.kind) && one.ns == 0; };
  if (const auto untimed = std::count_if(plan_.operations.begin(), plan_.operations.end(), is_untimed); untimed > 0)
    notes.push_back(format("{} operations of I/O have no recorded time, and count as 0 in the plan's times.", untimed));
  return notes;
}

std::string ErrorReport::kinds_table() const {
  std::vector<check::Row> rows;
  for (std::size_t i = 0; i < planned_.size(); ++i) {
    if (planned_[i].operations == 0 || static_cast<Kind>(i) == Kind::compute) continue;
    const Compared one = kind(i);
    rows.push_back({word_of(static_cast<Kind>(i)), format("{}", planned_[i].operations), seconds_text(one.planned),
                    seconds_text(one.replayed), seconds_text(one.error()), percent_text(one.replayed, one.planned),
                    seconds_text(one.largest)});
  }
  return check::table({"kind", "operations", "recorded s", "replayed s", "error s", "error", "largest s"}, rows,
                      {1, 2, 3, 4, 5, 6});
}

// Those that are off most.
std::string ErrorReport::processes_table() const {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < plan_.processes.size(); ++i) order.emplace_back(-process(i).largest, i);
  std::sort(order.begin(), order.end());
  std::vector<check::Row> rows;
  for (std::size_t i = 0; i < std::min(order.size(), kShownProcesses); ++i) {
    const Compared one = process(order[i].second);
    rows.push_back({format("{}", plan_.processes[order[i].second].number), seconds_text(one.planned), seconds_text(one.replayed),
                    seconds_text(one.error()), percent_text(one.replayed, one.planned), seconds_text(one.largest)});
  }
  const std::string more =
      order.size() > kShownProcesses ? format("the {} of {} processes that are off most\n", kShownProcesses, order.size()) : "";
  return more + check::table({"process", "recorded s", "replayed s", "error s", "error", "largest s"}, rows, {0, 1, 2, 3, 4, 5});
}

std::string ErrorReport::text() const {
  const Compared all = total();
  std::string text = format("{} on {}: {} processes, {} operations, {} files\n", plan_.name, folder_, plan_.processes.size(),
                            plan_.operations.size(), plan_.files.size());
  text += check::wrapped(format("replayed in {} s{}, {} {} s: {} ({} s), the largest error {} s", seconds_text(all.replayed),
                                repetitions_.size() > 1 ? format(" (median of {})", repetitions_.size()) : "",
                                plan_.recorded_ns > 0 ? "recorded" : "planned", seconds_text(all.planned),
                                percent_text(all.replayed, all.planned), seconds_text(all.error()), seconds_text(all.largest)),
                         check::kWidth, 2);
  text += "\n\n" + kinds_table() + "\n" + processes_table() + "\n";
  text += check::wrapped("I/O began behind its time: " + spread_text(spread(&Repetition::late)), check::kWidth, 2) + "\n";
  text += check::wrapped("off the recorded time:     " + spread_text(spread(&Repetition::off)), check::kWidth, 2) + "\n";
  for (const std::string& note : notes()) text += "\n" + check::wrapped(note, check::kWidth, 0) + "\n";
  return text;
}

Json ErrorReport::json() const {
  const auto entry = [](const Compared& one) {
    return Json{{"recorded_seconds", one.planned},
                {"replayed_seconds", one.replayed},
                {"error_seconds", one.error()},
                {"error", one.planned > 0 ? one.error() / one.planned : 0},
                {"largest_error_seconds", one.largest}};
  };
  Json processes = Json::array(), kinds = Json::array(), totals = Json::array();
  for (std::size_t i = 0; i < plan_.processes.size(); ++i) {
    processes.push_back(entry(process(i)));
    processes.back()["process"] = plan_.processes[i].number;
  }
  for (std::size_t i = 0; i < planned_.size(); ++i) {
    if (planned_[i].operations == 0) continue;
    kinds.push_back(entry(kind(i)));
    kinds.back()["kind"] = word_of(static_cast<Kind>(i));
    kinds.back()["operations"] = planned_[i].operations;
    kinds.back()["bytes"] = planned_[i].bytes;
  }
  for (const Repetition& one : repetitions_) totals.push_back(seconds(one.total));
  return {{"plan", plan_.name},
          {"layer", plan_.layer},
          {"folder", folder_},
          {"evaluated_seconds", seconds(times_.total)},
          {"total", entry(total())},
          {"totals_seconds", totals},
          {"processes", processes},
          {"kinds", kinds},
          {"start_error_seconds", spread_json(spread(&Repetition::late))},
          {"start_off_recording_seconds", spread_json(spread(&Repetition::off))},
          {"crowded_share", crowded_},
          {"cores", cores()},
          {"notes", notes()}};
}

}  // namespace damaris::replay
