#include "write/comparison.hpp"

#include "core/base/format.hpp"

namespace damaris::bench {
namespace {

template <class Compare>
Estimate compare(const std::vector<double>& ours, const std::vector<double>& plain, Compare&& compare_two) {
  std::vector<double> results;
  for (std::size_t i = 0; i < ours.size(); ++i) results.push_back(compare_two(ours[i], plain[i]));
  return estimate(results);
}

}  // namespace

Estimate added(const std::vector<double>& ours, const std::vector<double>& plain) {
  return compare(ours, plain, [](double a, double b) { return a - b; });
}

Estimate ratio(const std::vector<double>& ours, const std::vector<double>& plain) {
  return compare(ours, plain, [](double a, double b) { return a / b; });
}

std::string comparison(std::uint64_t bytes, const std::vector<double>& ours, const std::vector<double>& plain) {
  if (bytes < kLargeBytes) {
    const Estimate e = added(ours, plain);
    return format("{:+.0f} ns [{:.0f}, {:.0f}]", e.median, e.low, e.high);
  }
  const Estimate e = ratio(ours, plain);
  return format("{:.3f}x [{:.2f}, {:.2f}]", e.median, e.low, e.high);
}

Json details(Json what, const Samples& samples) {
  const double middle = median(samples.wall_ns), late = quantile(samples.wall_ns, 0.99);
  what["samples"] = samples.wall_ns.size();
  what["wall_ns"] = {{"median", middle}, {"best", quantile(samples.wall_ns, 0)}, {"p99", late}};
  what["p99_over_p50"] = late / middle;
  what["cpu_ns"] = {{"median", median(samples.cpu_ns)}, {"best", quantile(samples.cpu_ns, 0)}};
  return what;
}

}  // namespace damaris::bench
