// How two ways of a write are compared, and what other programs read of each.
// Used by: the write benchmark's parts, one thread.
// Before it: samples. After it: tables, rows and details.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json.hpp"
#include "statistics.hpp"
#include "stopwatch.hpp"

namespace damaris::bench {

inline constexpr std::uint64_t kLargeBytes = 1 << 20;  // from here on a quotient says more than a difference

// The median of pairs: what disturbed the machine for a while disturbed both of a pair.
Estimate added(const std::vector<double>& ours, const std::vector<double>& plain);
Estimate ratio(const std::vector<double>& ours, const std::vector<double>& plain);
// "+79 ns [76, 83]" below kLargeBytes, "1.008x [1.00, 1.02]" from there on.
std::string comparison(std::uint64_t bytes, const std::vector<double>& ours, const std::vector<double>& plain);

// An entry of the report's details: `what` (which process, how large, which way) and the times. Units: nanoseconds.
Json details(Json what, const Samples& samples);

}  // namespace damaris::bench
