// The smallest and largest value of a block, for an index of blocks and for float16.
// Used by: the server's dispatch thread and its workers.
// Before it: a block. After it: the index beside the dataset, the scale and offset of float16.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace damaris::codec {

// Of the finite values.
template <class T>
struct Range {
  T min = 0;
  T max = 0;
  bool finite = false;  // whether there is one; else the others mean nothing
};

// Of what both tell of.
template <class T>
Range<T> both(const Range<T>& a, const Range<T>& b) noexcept {
  if (!a.finite || !b.finite) return a.finite ? a : b;
  return {std::min(a.min, b.min), std::max(a.max, b.max), true};
}

// NaN and Inf are left out. T: float, double, or an integer of 8 to 64 bits. Units: `count` values. Threads: any; pure.
template <class T>
Range<T> range_of(const T* values, std::size_t count) noexcept;

}  // namespace damaris::codec
