#include "write/busy_server.hpp"

#include <cstdio>
#include <random>

#include "core/base/format.hpp"
#include "core/base/units.hpp"
#include "progress.hpp"

namespace damaris::bench {
namespace {

void remove_finished_files(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".h5") std::filesystem::remove(entry.path(), ignored);
}

void print_line(const char* name, const Samples& samples) {
  std::printf("%14s %10s %10s %10s %10s %10s\n", name, time_text(quantile(samples.wall_ns, 0)).c_str(),
              time_text(median(samples.wall_ns)).c_str(), time_text(quantile(samples.wall_ns, 0.99)).c_str(),
              time_text(quantile(samples.wall_ns, 1)).c_str(), time_text(median(samples.cpu_ns)).c_str());
}

// How sure a quotient of quantiles is: from the parts of the run.
Estimate tail(const std::vector<double>& samples) {
  constexpr std::size_t kParts = 8;
  std::vector<double> parts;
  for (std::size_t part = 0; part < kParts; ++part) {
    const std::vector<double> piece(samples.begin() + static_cast<std::ptrdiff_t>(part * samples.size() / kParts),
                                    samples.begin() + static_cast<std::ptrdiff_t>((part + 1) * samples.size() / kParts));
    if (!piece.empty()) parts.push_back(quantile(piece, 0.99) / median(piece));
  }
  Estimate result = estimate(parts);
  result.median = quantile(samples, 0.99) / median(samples);
  result.low = std::min(result.low, result.median);
  result.high = std::max(result.high, result.median);
  return result;
}

}  // namespace

void measure_with_busy_server(WriteClient& client, const WritePlan& plan, const std::string& what,
                              const std::filesystem::path& folder, Report& report) {
  Samples ours, plain;
  std::vector<double> ratios, cpu_ratios;
  {
    Progress progress("server " + what);
    std::mt19937 random(2);
    for (int round = 0; round < plan.warm_up + plan.rounds; ++round) {
      progress.show(round, plan.warm_up + plan.rounds);
      for (int i = 0; i < plan.sizes[0].writes; ++i) {
        const bool write_first = (random() & 1) != 0;
        Sample first = client.measure_one(write_first ? Method::write_to : Method::plain_memcpy, 0, i);
        Sample second = client.measure_one(write_first ? Method::plain_memcpy : Method::write_to, 0, i);
        if (!write_first) std::swap(first, second);
        if (round < plan.warm_up) continue;
        ours.add(first);
        plain.add(second);
        ratios.push_back(first.wall_ns / second.wall_ns);
        cpu_ratios.push_back(first.cpu_ns / second.cpu_ns);
      }
      client.end_step(1);  // the server turns to this step, and the next one is written meanwhile
      remove_finished_files(folder);
    }
  }
  const std::string size = size_text(plan.sizes[0].bytes);
  std::printf("\na write of %s while the server %s\n%14s %10s %10s %10s %10s %10s\n", size.c_str(), what.c_str(), "", "best",
              "median", "p99", "worst", "cpu");
  print_line("memcpy", plain);
  print_line("write_to", ours);
  report.rows.push_back(
      {format("dc_write {} over memcpy, server {}", size, what), estimate(ratios), true, 1.05, 0.80, median(cpu_ratios)});
  report.rows.push_back({format("dc_write {}, server {}, p99 / p50", size, what), tail(ours.wall_ns), true, 2, 1.3,
                         quantile(ours.cpu_ns, 0.99) / median(ours.cpu_ns)});
}

}  // namespace damaris::bench
