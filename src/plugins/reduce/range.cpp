#include "range.hpp"

#include <algorithm>
#include <limits>

#include "simd.hpp"

namespace damaris::reduce {
namespace {

constexpr std::size_t kLanes = 16;  // independent minima, so that the processor does many at once

template <class T>
struct Lanes {
  T low[kLanes], high[kLanes];
  std::uint32_t infinite[kLanes] = {};
};

template <class T>
inline __attribute__((always_inline)) void take(const T* values, Lanes<T>& lanes) noexcept {
  constexpr T kMost = std::numeric_limits<T>::max();
  for (std::size_t k = 0; k < kLanes; ++k) {
    const T value = values[k];
    const bool finite = value >= -kMost && value <= kMost;  // also false for NaN
    const T up = finite ? value : kMost, down = finite ? value : -kMost;
    lanes.low[k] = up < lanes.low[k] ? up : lanes.low[k];
    lanes.high[k] = down > lanes.high[k] ? down : lanes.high[k];
    lanes.infinite[k] += finite ? 0 : 1;
  }
}

template <class T>
inline __attribute__((always_inline)) Range<T> range_with(const T* values, std::size_t count) noexcept {
  constexpr T kMost = std::numeric_limits<T>::max();
  constexpr std::size_t kPart = std::size_t{1} << 30;  // before a lane's counter overflows
  Range<T> range{kMost, -kMost, 0};
  for (std::size_t begin = 0; begin < count; begin += kPart) {
    const std::size_t end = std::min(begin + kPart, count);
    Lanes<T> lanes;
    std::fill_n(lanes.low, kLanes, kMost);
    std::fill_n(lanes.high, kLanes, -kMost);
    std::size_t i = begin;
    for (; i + kLanes <= end; i += kLanes) take(values + i, lanes);
    T rest[kLanes];
    std::fill_n(rest, kLanes, std::numeric_limits<T>::quiet_NaN());
    std::copy_n(values + i, end - i, rest);
    take(rest, lanes);
    range.min = std::min(range.min, *std::min_element(lanes.low, lanes.low + kLanes));
    range.max = std::max(range.max, *std::max_element(lanes.high, lanes.high + kLanes));
    range.finite += i - begin + kLanes;
    for (const std::uint32_t infinite : lanes.infinite) range.finite -= infinite;
  }
  return range;
}

#ifdef DAMARIS_REDUCE_X86
DAMARIS_TARGET_AVX2 Range<float> range_avx2(const float* values, std::size_t count) noexcept { return range_with(values, count); }
DAMARIS_TARGET_AVX2 Range<double> range_avx2(const double* values, std::size_t count) noexcept { return range_with(values, count); }
#endif

template <class T>
Range<T> range_any(const T* values, std::size_t count) noexcept {
#ifdef DAMARIS_REDUCE_X86
  if (best_simd() != Simd::kPortable) return range_avx2(values, count);
#endif
  return range_with(values, count);
}

}  // namespace

Range<float> range_of(const float* values, std::size_t count) noexcept { return range_any(values, count); }
Range<double> range_of(const double* values, std::size_t count) noexcept { return range_any(values, count); }

}  // namespace damaris::reduce
