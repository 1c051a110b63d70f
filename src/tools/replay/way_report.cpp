#include "tools/replay/way_report.hpp"

#include <algorithm>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "tools/check/text_table.hpp"
#include "tools/replay/sums.hpp"

namespace damaris::replay {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

std::string spread_text(const std::vector<double>& values) {
  if (values.size() == 1) return "";
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return format(" (median of {}, {} to {} s)", values.size(), seconds_text(*least), seconds_text(*most));
}

}  // namespace

void WayReport::add(const Played& played, double stored_s) {
  const Plan& plan = outputs_.plan;
  double sum = 0, most = 0;
  for (const Process& process : plan.processes) {
    std::uint64_t ns = 0;
    for (std::uint32_t i = process.begin; i < process.end; ++i) ns += is_io(plan.operations[i].kind) ? played.io_ns[i] : 0;
    sum += seconds(ns);
    most = std::max(most, seconds(ns));
  }
  totals_.push_back(seconds(played.total));
  done_.push_back(seconds(*std::max_element(played.ends.begin(), played.ends.end())));
  mean_io_.push_back(sum / static_cast<double>(plan.processes.size()));
  most_io_.push_back(most);
  stored_.push_back(stored_s);
}

std::vector<std::string> WayReport::notes() const {
  std::vector<std::string> notes;
  if (setting_.stretch > 1)
    notes.push_back(format("The processes compute {:.3g} times as long: {} of the cores of a node serve{}.", setting_.stretch,
                           setting_.cores, setting_.cores == 1 ? "s" : ""));
  if (outputs_.left_out > 0)
    notes.push_back(format("{} reads of files that are written in this way are left out.", outputs_.left_out));
  return notes;
}

std::string WayReport::text() const {
  const double total = median(totals_), io = median(mean_io_);
  std::string text = format("{} as {} on {}: {} processes, {} outputs, {}\n", outputs_.plan.name,
                            kWayNames[static_cast<std::size_t>(setting_.way)], setting_.folder, outputs_.plan.processes.size(),
                            outputs_.writers.size(), size_text(outputs_.bytes));
  const auto line = [&text](const std::string& words) { text += check::wrapped(words, check::kWidth, 2) + "\n"; };
  line(format("takes {} s{}, the plan as it is {} s: {}", seconds_text(total), spread_text(totals_),
              seconds_text(seconds(planned_ns_)), percent_text(total, seconds(planned_ns_))));
  line(format("a process is {} s in I/O, {:.1f} % of the time; the longest {} s", seconds_text(io), 100 * io / total,
              seconds_text(median(most_io_))));
  if (setting_.servers > 0)
    line(format("each of {} server{} stores for {} s, {:.0f} % of the time; its buffer has {}", setting_.servers,
                setting_.servers == 1 ? "" : "s", seconds_text(median(stored_) / setting_.servers),
                100 * median(stored_) / setting_.servers / total, size_text(setting_.buffer_bytes)));
  for (const std::string& note : notes()) text += "\n" + check::wrapped(note, check::kWidth, 0) + "\n";
  return text;
}

Json WayReport::json() const {
  Json report = {{"plan", outputs_.plan.name},
                 {"way", kWayNames[static_cast<std::size_t>(setting_.way)]},
                 {"folder", setting_.folder},
                 {"processes", outputs_.plan.processes.size()},
                 {"outputs", outputs_.writers.size()},
                 {"written_bytes", outputs_.bytes},
                 {"largest_output_bytes", outputs_.largest_output},
                 {"planned_seconds", seconds(planned_ns_)},
                 {"recorded_seconds", seconds(outputs_.plan.recorded_ns)},
                 {"total_seconds", median(totals_)},
                 {"totals_seconds", totals_},
                 {"processes_done_seconds", median(done_)},
                 {"io_seconds", {{"mean", median(mean_io_)}, {"most", median(most_io_)}}},
                 {"notes", notes()}};
  if (setting_.servers > 0)
    report["servers"] = {{"cores", setting_.cores},
                         {"count", setting_.servers},
                         {"buffer_bytes", setting_.buffer_bytes},
                         {"stretch", setting_.stretch},
                         {"stored_seconds", median(stored_) / setting_.servers},
                         {"busy_share", median(stored_) / setting_.servers / median(totals_)}};
  return report;
}

}  // namespace damaris::replay
