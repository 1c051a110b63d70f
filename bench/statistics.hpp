// Medians, quantiles and how sure they are. Times on a shared machine have long tails: no mean, no standard deviation.
// Used by: every benchmark, one thread.
// Before it: samples. After it: rows and tables.
#pragma once

#include <vector>

namespace damaris::bench {

// The value below which the share `q` (0 to 1) of `values` lies, interpolated; NaN when there are none.
double quantile(std::vector<double> values, double q);
inline double median(const std::vector<double>& values) { return quantile(values, 0.5); }

// A median and the interval that holds it with 95 %: percentiles of the medians of 1000 samples drawn from `values` with replacement.
struct Estimate {
  double median = 0;
  double low = 0;
  double high = 0;
  double best = 0;  // the smallest value
};
Estimate estimate(const std::vector<double>& values);

}  // namespace damaris::bench
