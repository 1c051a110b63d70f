#include "look.hpp"

#include <algorithm>

#include "checksum.hpp"
#include "checksum_streams.hpp"
#include "extremes.hpp"

namespace damaris::codec {
namespace {

constexpr std::size_t kNearBytes = std::size_t{16} << 10;  // half of the nearest cache

template <class T>
Look<T> look_twice(const T* values, std::size_t count, std::uint32_t before, Simd simd) noexcept {
  Look<T> look;
  look.checksum = before;
  constexpr std::size_t kPart = kNearBytes / sizeof(T);
  for (std::size_t done = 0; done < count; done += kPart) {
    const std::size_t part = std::min(kPart, count - done);
    look.checksum = crc32(values + done, part * sizeof(T), look.checksum, simd);
    look.range = both(look.range, range_of(values + done, part));
  }
  return look;
}

#ifdef DAMARIS_CODEC_X86
// A comparison with NaN is false, so NaN changes nothing.
template <class T>
struct ExtremesTaker {
  typedef T Vector __attribute__((vector_size(kStreamStep)));  // gcc takes no alias of a template here
  Vector low[kStreams], high[kStreams];

  DAMARIS_TARGET_AVX512 ExtremesTaker() noexcept {
    for (int s = 0; s < kStreams; ++s) {
      low[s] = Vector{} + kAbove<T>;
      high[s] = Vector{} + kBelow<T>;
    }
  }
  DAMARIS_TARGET_AVX512 void take(int stream, const __m512i& bits) noexcept {
    const Vector values = reinterpret_cast<Vector>(bits);
    low[stream] = values < low[stream] ? values : low[stream];
    high[stream] = values > high[stream] ? values : high[stream];
  }
  DAMARIS_TARGET_AVX512 Extremes<T> all() const noexcept {
    Extremes<T> all = {kAbove<T>, kBelow<T>};
    for (int s = 0; s < kStreams; ++s)
      for (std::size_t k = 0; k < kStreamStep / sizeof(T); ++k)
        all = {std::min<T>(all.low, low[s][k]), std::max<T>(all.high, high[s][k])};
    return all;
  }
};

template <class T>
DAMARIS_TARGET_AVX512 Look<T> look_avx512(const T* values, std::size_t count) noexcept {
  const auto* const bytes = reinterpret_cast<const std::byte*>(values);
  const std::size_t stream_bytes = bytes_of_stream(count * sizeof(T)), done = kStreams * stream_bytes / sizeof(T);
  ExtremesTaker<T> taker;
  const std::uint32_t checksum = crc32_of_streams(bytes, stream_bytes, 0, taker);
  const Extremes<T> extremes = taker.all();
  Look<T> look = look_twice(values + done, count - done, checksum, Simd::kAvx512);
  look.range = both(look.range, extremes.has_infinite() ? range_of(values, done) : extremes.range());
  return look;
}
#endif

}  // namespace

template <class T>
Look<T> look_at(const T* values, std::size_t count, Simd simd) noexcept {
#ifdef DAMARIS_CODEC_X86
  if (count * sizeof(T) >= kWorthStreams && at_most(simd) == Simd::kAvx512) return look_avx512(values, count);
#endif
  return look_twice(values, count, 0, simd);
}

template Look<float> look_at(const float*, std::size_t, Simd) noexcept;
template Look<double> look_at(const double*, std::size_t, Simd) noexcept;
template Look<std::int8_t> look_at(const std::int8_t*, std::size_t, Simd) noexcept;
template Look<std::uint8_t> look_at(const std::uint8_t*, std::size_t, Simd) noexcept;
template Look<std::int16_t> look_at(const std::int16_t*, std::size_t, Simd) noexcept;
template Look<std::uint16_t> look_at(const std::uint16_t*, std::size_t, Simd) noexcept;
template Look<std::int32_t> look_at(const std::int32_t*, std::size_t, Simd) noexcept;
template Look<std::uint32_t> look_at(const std::uint32_t*, std::size_t, Simd) noexcept;
template Look<std::int64_t> look_at(const std::int64_t*, std::size_t, Simd) noexcept;
template Look<std::uint64_t> look_at(const std::uint64_t*, std::size_t, Simd) noexcept;

}  // namespace damaris::codec
