#include "range.hpp"

#include <algorithm>
#include <limits>

#include "checksum.hpp"
#include "simd.hpp"

namespace damaris::codec {
namespace {

// Independent minima, for instruction-level parallelism.
template <class T>
constexpr std::size_t kLanes = 128 / sizeof(T);

template <class T>
struct RangeLanes {
  T low[kLanes<T>], high[kLanes<T>];
};

// Comparisons with NaN are false, so NaN has no effect. kOnlyFinite also skips infinite values.
template <bool kOnlyFinite, class T>
inline __attribute__((always_inline)) void take(const T* values, RangeLanes<T>& lanes) noexcept {
  for (std::size_t k = 0; k < kLanes<T>; ++k) {
    const T value = values[k];
    const bool out = kOnlyFinite && !(value >= std::numeric_limits<T>::lowest() && value <= std::numeric_limits<T>::max());
    const T up = out ? kAbove<T> : value, down = out ? kBelow<T> : value;
    lanes.low[k] = up < lanes.low[k] ? up : lanes.low[k];
    lanes.high[k] = down > lanes.high[k] ? down : lanes.high[k];
  }
}

template <bool kOnlyFinite, class T>
inline __attribute__((always_inline)) Extremes<T> extremes_with(const T* values, std::size_t count) noexcept {
  RangeLanes<T> lanes;
  std::fill_n(lanes.low, kLanes<T>, kAbove<T>);
  std::fill_n(lanes.high, kLanes<T>, kBelow<T>);
  std::size_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) take<kOnlyFinite>(values + i, lanes);
  if (i < count) {
    T rest[kLanes<T>];
    std::fill_n(rest, kLanes<T>, values[i]);
    std::copy_n(values + i, count - i, rest);
    take<kOnlyFinite>(rest, lanes);
  }
  return {*std::min_element(lanes.low, lanes.low + kLanes<T>), *std::max_element(lanes.high, lanes.high + kLanes<T>)};
}

// Infinite values are rare: a second pass is made only if there is one.
template <class T>
inline __attribute__((always_inline)) Range<T> range_with(const T* values, std::size_t count) noexcept {
  const Extremes<T> all = extremes_with<false>(values, count);
  return all.has_infinite() ? extremes_with<true>(values, count).range() : all.range();
}

#ifdef DAMARIS_CODEC_X86
template <class T>
DAMARIS_TARGET_AVX2 Range<T> range_avx2(const T* values, std::size_t count) noexcept {
  return range_with(values, count);
}
#endif

}  // namespace

template <class T>
Range<T> range_of(const T* values, std::size_t count) noexcept {
#ifdef DAMARIS_CODEC_X86
  if (best_simd() != Simd::kPortable) return range_avx2(values, count);
#endif
  return range_with(values, count);
}

template Range<float> range_of(const float*, std::size_t) noexcept;
template Range<double> range_of(const double*, std::size_t) noexcept;
template Range<std::int8_t> range_of(const std::int8_t*, std::size_t) noexcept;
template Range<std::uint8_t> range_of(const std::uint8_t*, std::size_t) noexcept;
template Range<std::int16_t> range_of(const std::int16_t*, std::size_t) noexcept;
template Range<std::uint16_t> range_of(const std::uint16_t*, std::size_t) noexcept;
template Range<std::int32_t> range_of(const std::int32_t*, std::size_t) noexcept;
template Range<std::uint32_t> range_of(const std::uint32_t*, std::size_t) noexcept;
template Range<std::int64_t> range_of(const std::int64_t*, std::size_t) noexcept;
template Range<std::uint64_t> range_of(const std::uint64_t*, std::size_t) noexcept;

namespace {

constexpr std::size_t kNearBytes = std::size_t{16} << 10;  // half of the L1 cache

}  // namespace

// Each part is still in the L1 cache when it is read the second time.
template <class T>
ValueSummary<T> summarize(const T* values, std::size_t count) noexcept {
  ValueSummary<T> summary;
  constexpr std::size_t kPart = kNearBytes / sizeof(T);
  for (std::size_t done = 0; done < count; done += kPart) {
    const std::size_t part = std::min(kPart, count - done);
    summary.checksum = crc32(values + done, part * sizeof(T), summary.checksum);
    summary.range = merged(summary.range, range_of(values + done, part));
  }
  return summary;
}

template ValueSummary<float> summarize(const float*, std::size_t) noexcept;
template ValueSummary<double> summarize(const double*, std::size_t) noexcept;
template ValueSummary<std::int8_t> summarize(const std::int8_t*, std::size_t) noexcept;
template ValueSummary<std::uint8_t> summarize(const std::uint8_t*, std::size_t) noexcept;
template ValueSummary<std::int16_t> summarize(const std::int16_t*, std::size_t) noexcept;
template ValueSummary<std::uint16_t> summarize(const std::uint16_t*, std::size_t) noexcept;
template ValueSummary<std::int32_t> summarize(const std::int32_t*, std::size_t) noexcept;
template ValueSummary<std::uint32_t> summarize(const std::uint32_t*, std::size_t) noexcept;
template ValueSummary<std::int64_t> summarize(const std::int64_t*, std::size_t) noexcept;
template ValueSummary<std::uint64_t> summarize(const std::uint64_t*, std::size_t) noexcept;

}  // namespace damaris::codec
