// The range and checksum of values, computed in one pass, so that uncached memory is read only once.
// Used by: the server's work thread and its workers.
// Before it: values as the simulation wrote them. After it: scalings, the manifest, the write.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace damaris::codec {

// The range of the finite values.
template <class T>
struct Range {
  T min = 0;
  T max = 0;
  bool finite = false;  // whether there is a finite value; else min and max are meaningless
};

// Initial minimum and maximum: no value is above the one or below the other.
template <class T>
constexpr T kAbove = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
template <class T>
constexpr T kBelow = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();

template <class T>
struct Extremes {
  T low, high;

  bool is_empty() const noexcept { return low > high; }
  bool has_infinite() const noexcept {
    return std::is_floating_point_v<T> && !is_empty() && (low == kBelow<T> || high == kAbove<T>);
  }
  // Only for extremes without infinite values.
  Range<T> range() const noexcept { return is_empty() ? Range<T>{} : Range<T>{low, high, true}; }
};

// The range of the union.
template <class T>
Range<T> merged(const Range<T>& a, const Range<T>& b) noexcept {
  if (!a.finite || !b.finite) return a.finite ? a : b;
  return {std::min(a.min, b.min), std::max(a.max, b.max), true};
}

// NaN and Inf are left out. T: float, double, or an integer of 8 to 64 bits. Units: `count` values. Threads: any; pure.
template <class T>
Range<T> range_of(const T* values, std::size_t count) noexcept;

template <class T>
struct ValueSummary {
  std::uint32_t checksum = 0;  // as by crc32()
  Range<T> range;              // as by range_of()
};

// T: as for range_of. Units: `count` values. Threads: any; pure.
template <class T>
ValueSummary<T> summarize(const T* values, std::size_t count) noexcept;

}  // namespace damaris::codec
