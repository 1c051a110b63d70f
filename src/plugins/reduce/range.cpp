#include "range.hpp"

#include <limits>

#include "simd.hpp"

namespace damaris::reduce {
namespace {

template <class T>
inline __attribute__((always_inline)) Range<T> range_with(const T* values, std::size_t count) noexcept {
  constexpr T kMost = std::numeric_limits<T>::max();
  T low = kMost, high = -kMost;
  std::uint64_t finite = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const T value = values[i];
    const bool is_finite = value >= -kMost && value <= kMost;  // also false for NaN
    const T up = is_finite ? value : kMost, down = is_finite ? value : -kMost;
    low = up < low ? up : low;
    high = down > high ? down : high;
    finite += is_finite ? 1 : 0;
  }
  return {low, high, finite};
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
