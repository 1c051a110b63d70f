#include "write/parts.hpp"

#include <cstdio>
#include <random>

#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "progress.hpp"
#include "write/comparison.hpp"

namespace damaris::bench {
namespace {

void remove_finished_files(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".h5") std::filesystem::remove(entry.path(), ignored);
}

void print_line(const char* name, const Samples& samples) {
  const double middle = median(samples.wall_ns), late = quantile(samples.wall_ns, 0.99);
  std::printf("%14s %10s %10s %10s %8.2f %10s %10s\n", name, time_text(quantile(samples.wall_ns, 0)).c_str(),
              time_text(middle).c_str(), time_text(late).c_str(), late / middle, time_text(quantile(samples.wall_ns, 1)).c_str(),
              time_text(median(samples.cpu_ns)).c_str());
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

struct Pairs {
  Samples ours, plain;
  std::vector<double> ratios, cpu_ratios;
  void add(const Sample& write, const Sample& copy) {
    ours.add(write);
    plain.add(copy);
    ratios.push_back(write.wall_ns / copy.wall_ns);
    cpu_ratios.push_back(write.cpu_ns / copy.cpu_ns);
  }
};

Pairs measure_pairs(WriteClient& client, const WritePlan& plan, const std::string& what, const std::filesystem::path& folder) {
  Progress progress("server " + what);
  Pairs pairs;
  std::mt19937 random(2);
  client.decide_copies();
  for (int round = 0; round < plan.warm_up + plan.rounds; ++round) {
    progress.show(round, plan.warm_up + plan.rounds);
    for (int i = 0; i < plan.sizes[0].writes; ++i) {
      const bool write_first = (random() & 1) != 0;
      Sample first = client.measure_one(write_first ? Method::write_to : Method::plain_memcpy, 0, i);
      Sample second = client.measure_one(write_first ? Method::plain_memcpy : Method::write_to, 0, i);
      if (!write_first) std::swap(first, second);
      if (round >= plan.warm_up) pairs.add(first, second);
    }
    client.end_step(1);  // the server turns to this step, and the next one is written meanwhile
    remove_finished_files(folder);
  }
  return pairs;
}

}  // namespace

void measure_with_busy_server(WriteClient& client, const LocalServer& server, const WritePlan& plan, const std::string& what,
                              const std::filesystem::path& folder, Report& report) {
  const double cpu_ns = server.cpu_ns();
  const Clock::time_point start = Clock::now();
  const Pairs pairs = measure_pairs(client, plan, what, folder);
  const double busy = (server.cpu_ns() - cpu_ns) / (seconds_since(start) * 1e9) * 100;
  const std::uint64_t bytes = plan.sizes[0].bytes;
  const std::string size = size_text(bytes);
  std::printf("\na write of %s while the server %s, on average with %.0f %% of a core\n", size.c_str(), what.c_str(), busy);
  std::printf("%14s %10s %10s %10s %8s %10s %10s\n", "", "best", "median", "p99", "p99/p50", "worst", "cpu");
  print_line("memcpy", pairs.plain);
  print_line("write_to", pairs.ours);
  report.rows.push_back({format("dc_write {} over memcpy, server {}", size, what), estimate(pairs.ratios), true, 1.05, 0.80,
                         median(pairs.cpu_ratios)});
  report.rows.push_back({format("dc_write {}, server {}, p99 / p50", size, what), tail(pairs.ours.wall_ns), true, 2, 1.3,
                         quantile(pairs.ours.cpu_ns, 0.99) / median(pairs.ours.cpu_ns)});
  const auto details_of = [&](Method method, const Samples& samples) {
    return details({{"server", what}, {"server_core_percent", busy}, {"bytes", bytes}, {"method", method_name(method)}}, samples);
  };
  report.details.push_back(details_of(Method::plain_memcpy, pairs.plain));
  report.details.push_back(details_of(Method::write_to, pairs.ours));
}

}  // namespace damaris::bench
