#include "half.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <damaris/error.hpp>
#include <limits>
#include <string>

#include "simd.hpp"

#ifdef DAMARIS_REDUCE_X86
#include <immintrin.h>
#endif

namespace damaris::reduce {
namespace {

constexpr std::size_t kGroup = 8;
constexpr std::uint32_t kFloatInf = 0x7f800000, kHalfMost = 0x477ff000;  // 65520: from here on Inf is nearest

// Converts a group, there and back.
struct PortableHalf {
  static void there(const float* values, Half* out) noexcept {
    for (std::size_t k = 0; k < kGroup; ++k) out[k] = to_half(values[k]);
  }
  static void back(const Half* halves, float* out) noexcept {
    for (std::size_t k = 0; k < kGroup; ++k) out[k] = from_half(halves[k]);
  }
};

#ifdef DAMARIS_REDUCE_X86
struct F16cHalf {
  DAMARIS_TARGET_AVX2 static void there(const float* values, Half* out) noexcept {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(values), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), halves);
  }
  DAMARIS_TARGET_AVX2 static void back(const Half* halves, float* out) noexcept {
    _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves))));
  }
};
#endif

// What a reader gets is compared with what was there, so the error holds whatever rounding went before.
template <class Convert, class T>
inline __attribute__((always_inline)) void pack_group(const T* values, const Packing& packing, Half* out, Packed& packed) noexcept {
  float scaled[kGroup], unpacked[kGroup];
  for (std::size_t k = 0; k < kGroup; ++k)
    scaled[k] = static_cast<float>((static_cast<double>(values[k]) - packing.offset) / packing.scale);
  Convert::there(scaled, out);
  Convert::back(out, unpacked);
  double reached = packed.largest_error;
  std::uint64_t overflowed = 0;
  for (std::size_t k = 0; k < kGroup; ++k) {
    const double value = values[k];
    const double error = std::fabs(value - (static_cast<double>(unpacked[k]) * packing.scale + packing.offset));
    const bool finite = std::fabs(value) <= std::numeric_limits<double>::max();
    const bool fits = std::fabs(unpacked[k]) <= std::numeric_limits<float>::max();
    overflowed += finite && !fits ? 1 : 0;
    reached = finite && fits && error > reached ? error : reached;
  }
  packed.largest_error = reached;
  packed.overflowed += overflowed;
}

template <class Convert, class T>
inline __attribute__((always_inline)) Packed pack_with(const T* values, std::size_t count, const Packing& packing,
                                                       Half* out) noexcept {
  Packed packed;
  std::size_t i = 0;
  for (; i + kGroup <= count; i += kGroup) pack_group<Convert>(values + i, packing, out + i, packed);
  if (i == count) return packed;
  T rest[kGroup];
  Half halves[kGroup];
  for (std::size_t k = 0; k < kGroup; ++k) rest[k] = values[std::min(i + k, count - 1)];
  Packed last;
  pack_group<Convert>(rest, packing, halves, last);
  std::copy_n(halves, count - i, out + i);
  packed.largest_error = std::max(packed.largest_error, last.largest_error);
  for (; i < count; ++i) packed.overflowed += std::isfinite(values[i]) && (out[i] & 0x7fff) == 0x7c00 ? 1 : 0;
  return packed;
}

#ifdef DAMARIS_REDUCE_X86
template <class T>
DAMARIS_TARGET_AVX2 Packed pack_f16c(const T* values, std::size_t count, const Packing& packing, Half* out) noexcept {
  return pack_with<F16cHalf>(values, count, packing, out);
}
#endif

template <class T>
Packed pack_any(const T* values, std::size_t count, const Packing& packing, Half* out) {
  check_packing(packing);
#ifdef DAMARIS_REDUCE_X86
  if (best_simd() != Simd::kPortable) return pack_f16c(values, count, packing, out);
#endif
  return pack_with<PortableHalf>(values, count, packing, out);
}

}  // namespace

template <class T>
Packing packing_for(const Range<T>& range) noexcept {
  if (range.finite == 0) return {};
  const double low = range.min, high = range.max;
  const double nearest = std::min(std::fabs(low), std::fabs(high)), farthest = std::max(std::fabs(low), std::fabs(high));
  const bool far_from_zero = (low > 0 || high < 0) && high - low < nearest;
  if (!far_from_zero) return {farthest > 0 ? farthest : 1, 0};
  const double offset = low + (high - low) / 2;
  const double scale = std::max(high - offset, offset - low);
  return {scale > 0 ? scale : 1, offset};
}
template Packing packing_for(const Range<float>& range) noexcept;
template Packing packing_for(const Range<double>& range) noexcept;

void check_packing(const Packing& packing) {
  if (std::isfinite(packing.scale) && packing.scale != 0 && std::isfinite(packing.offset)) return;
  throw Error(DC_E_CONFIG, "16 bits with scale " + std::to_string(packing.scale) + " and offset " + std::to_string(packing.offset) +
                               " cannot be unpacked; give a finite scale that is not zero and a finite offset, or neither of them");
}

Packed pack(const float* values, std::size_t count, const Packing& packing, Half* out) {
  return pack_any(values, count, packing, out);
}
Packed pack(const double* values, std::size_t count, const Packing& packing, Half* out) {
  return pack_any(values, count, packing, out);
}

Half to_half(float value) noexcept {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > kFloatInf) return static_cast<Half>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= kHalfMost) return static_cast<Half>(sign | 0x7c00);
  if (magnitude >= 0x38800000)  // normal halves: move the exponent, round what falls off
    return static_cast<Half>(sign | ((magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13));
  float small;  // the rounding of an addition leaves the half's bits at the end
  std::memcpy(&small, &magnitude, 4);
  small += 0.5f;
  std::memcpy(&bits, &small, 4);
  return static_cast<Half>(sign | (bits - 0x3f000000));
}

float from_half(Half half) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16, magnitude = half & 0x7fffu;
  const float small = static_cast<float>(magnitude) * 5.9604644775390625e-8f;  // 2^-24: zeros and denormals
  std::uint32_t bits;
  std::memcpy(&bits, &small, 4);
  if (magnitude >= 0x7c00)
    bits = kFloatInf | (magnitude & 0x3ff) << 13;
  else if (magnitude >= 0x400)
    bits = (magnitude << 13) + 0x38000000;
  bits |= sign;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

}  // namespace damaris::reduce
