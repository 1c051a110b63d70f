#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace damaris::bench {
namespace {

constexpr int kDraws = 1000;
constexpr unsigned kSeed = 20111;  // fixed: the same samples give the same interval

}  // namespace

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), at, values.end());
  const double low = *at;
  if (below + 1 == values.size()) return low;
  const double high = *std::min_element(at + 1, values.end());
  return low + (place - static_cast<double>(below)) * (high - low);
}

Estimate estimate(const std::vector<double>& values) {
  Estimate result;
  result.median = median(values);
  result.low = result.high = result.best = result.median;
  if (values.empty()) return result;
  result.best = *std::min_element(values.begin(), values.end());
  std::mt19937 random(kSeed);
  std::uniform_int_distribution<std::size_t> pick(0, values.size() - 1);
  std::vector<double> medians, drawn(values.size());
  for (int draw = 0; draw < kDraws; ++draw) {
    for (double& value : drawn) value = values[pick(random)];
    medians.push_back(median(drawn));
  }
  result.low = quantile(medians, 0.025);
  result.high = quantile(medians, 0.975);
  return result;
}

}  // namespace damaris::bench
