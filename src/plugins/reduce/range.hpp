// The smallest and largest value of a block, for an index of blocks and for float16.
// Used by: worker threads of the server.
// Before it: a block. After it: the index beside the dataset, the scale and offset of float16.
#pragma once

#include <cstddef>
#include <cstdint>

namespace damaris::reduce {

// Of the finite values; with none of them `finite` is 0 and the others mean nothing.
template <class T>
struct Range {
  T min = 0;
  T max = 0;
  std::uint64_t finite = 0;  // how many values are finite
};

// NaN and Inf are left out. Units: `count` values. Threads: any; pure.
Range<float> range_of(const float* values, std::size_t count) noexcept;
Range<double> range_of(const double* values, std::size_t count) noexcept;

}  // namespace damaris::reduce
