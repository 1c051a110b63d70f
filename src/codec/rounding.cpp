#include "rounding.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <damaris/error.hpp>
#include <limits>
#include <string>

#include "simd.hpp"

#ifdef DAMARIS_CODEC_X86
#include <immintrin.h>
#endif

namespace damaris::codec {
namespace {

template <class T>
struct FloatBits;
template <>
struct FloatBits<float> {
  using Bits = std::uint32_t;
  static constexpr int kMantissa = 23;
};
template <>
struct FloatBits<double> {
  using Bits = std::uint64_t;
  static constexpr int kMantissa = 52;
};

// Multiples of a power of two are exact; a value too large to be divided is already a multiple.
template <class T>
inline __attribute__((always_inline)) double round_absolute(const T* values, std::size_t count, double step, T* out) noexcept {
  constexpr double kMost = std::numeric_limits<T>::max();
  const double back = 1 / step;
  double reached = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = values[i];
    const double steps = value * back;
    const T rounded = static_cast<T>(std::nearbyint(steps) * step);
    const bool good = std::fabs(steps) < 4503599627370496.0 && std::fabs(static_cast<double>(rounded)) <= kMost;  // 2^52
    const T result = good ? rounded : values[i];
    const double error = good ? std::fabs(value - static_cast<double>(result)) : 0;
    reached = error > reached ? error : reached;
    out[i] = result;
  }
  return reached;
}

// Rounds away the last bits of the mantissa. Zeros, denormals, Inf and NaN are left unchanged.
template <class T>
inline __attribute__((always_inline)) double round_relative(const T* values, std::size_t count, int drop, T* out) noexcept {
  using Bits = typename FloatBits<T>::Bits;
  constexpr int kMantissa = FloatBits<T>::kMantissa;
  constexpr Bits kExponent = (~Bits{0} >> 1) >> kMantissa << kMantissa;
  const Bits keep = ~Bits{0} << drop, half = (Bits{1} << (drop - 1)) - 1;
  double reached = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, values + i, sizeof bits);
    const Bits rounded = (bits + half + (bits >> drop & 1)) & keep;
    const Bits exponent = bits & kExponent;
    const bool good = exponent != 0 && exponent != kExponent && (rounded & kExponent) != kExponent;
    const Bits kept = good ? rounded : bits;
    T result;
    std::memcpy(&result, &kept, sizeof result);
    const double value = values[i];
    const double error = good ? std::fabs((value - static_cast<double>(result)) / value) : 0;
    reached = error > reached ? error : reached;
    out[i] = result;
  }
  return reached;
}

#ifdef DAMARIS_CODEC_X86
template <class T>
DAMARIS_TARGET_AVX2 double absolute_avx2(const T* values, std::size_t count, double step, T* out) noexcept {
  return round_absolute(values, count, step, out);
}
template <class T>
DAMARIS_TARGET_AVX2 double relative_avx2(const T* values, std::size_t count, int drop, T* out) noexcept {
  return round_relative(values, count, drop, out);
}
#endif

template <class T>
double absolute(const T* values, std::size_t count, double bound, T* out) noexcept {
  // The largest power of two not above twice the bound. If it is so small that its inverse overflows, nothing is rounded.
  const int power = std::ilogb(bound) + 1;
  if (power < -1020 || power < std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits) {
    if (out != values) std::copy_n(values, count, out);
    return 0;
  }
  const double step = std::ldexp(1.0, std::min(power, 1020));
#ifdef DAMARIS_CODEC_X86
  if (best_simd() != Simd::kPortable) return absolute_avx2(values, count, step, out);
#endif
  return round_absolute(values, count, step, out);
}

template <class T>
double relative(const T* values, std::size_t count, double bound, T* out) noexcept {
  // Keeping k bits of the mantissa causes an error of at most 2^-(k + 1).
  const int kept = std::max(0, -std::ilogb(bound) - 1);
  const int drop = FloatBits<T>::kMantissa - kept;
  if (drop < 1) {
    if (out != values) std::copy_n(values, count, out);
    return 0;
  }
#ifdef DAMARIS_CODEC_X86
  if (best_simd() != Simd::kPortable) return relative_avx2(values, count, drop, out);
#endif
  return round_relative(values, count, drop, out);
}

template <class T>
double round_any(const T* values, std::size_t count, const ErrorBound& bound, T* out) {
  check_bound(bound);
  return bound.kind == ErrorKind::kAbsolute ? absolute(values, count, bound.value, out) : relative(values, count, bound.value, out);
}

constexpr std::size_t kGroup = 16;  // values converted and compared together
constexpr std::size_t kBlock =
    512;  // values per pipeline step: large enough that a step does not wait for the stores of the previous one
constexpr std::uint32_t kFloatInf = 0x7f800000, kHalfMost = 0x477ff000;  // 65520: from here on Inf is nearest
constexpr double kHalfOverflow = 65520;

struct ErrorLanes {
  double reached[kGroup] = {};
  double overflowed[kGroup] = {};  // exact up to 2^53
};

// Converts a group in both directions. compare() compares the dequantized values with the originals, so the error includes all
// rounding.
struct PortableHalf {
  static void there(const float* values, Half* out) noexcept {
    for (std::size_t k = 0; k < kGroup; ++k) out[k] = to_half(values[k]);
  }
  static void back(const Half* halves, float* out) noexcept {
    for (std::size_t k = 0; k < kGroup; ++k) out[k] = from_half(halves[k]);
  }
  template <class T>
  static void compare(const T* values, const float* halves, const Scaling& scaling, ErrorLanes& lanes) noexcept {
    for (std::size_t k = 0; k < kGroup; ++k) {
      const double value = values[k], half = halves[k];
      const double read = half * scaling.scale + scaling.offset, error = std::fabs(value - read);
      const bool fits = std::fabs(read) <= std::numeric_limits<T>::max();  // the dequantized value is finite in the original type
      const double wrong = fits ? 0.0 : 1.0, reached = fits ? error : 0.0;
      const bool finite = std::fabs(value) <= std::numeric_limits<double>::max();
      const double counted = finite ? reached : 0.0;
      lanes.overflowed[k] += finite ? wrong : 0.0;
      lanes.reached[k] = counted > lanes.reached[k] ? counted : lanes.reached[k];
    }
  }
};

#ifdef DAMARIS_CODEC_X86
struct F16cHalf {
  DAMARIS_TARGET_AVX2 static void there(const float* values, Half* out) noexcept {
    for (std::size_t k = 0; k < kGroup; k += 8) {
      const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(values + k), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + k), halves);
    }
  }
  DAMARIS_TARGET_AVX2 static void back(const Half* halves, float* out) noexcept {
    for (std::size_t k = 0; k < kGroup; k += 8)
      _mm256_storeu_ps(out + k, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves + k))));
  }
  DAMARIS_TARGET_AVX2 static __m256d four(const float* at) noexcept { return _mm256_cvtps_pd(_mm_loadu_ps(at)); }
  DAMARIS_TARGET_AVX2 static __m256d four(const double* at) noexcept { return _mm256_loadu_pd(at); }
  template <class T>
  DAMARIS_TARGET_AVX2 static void compare(const T* values, const float* halves, const Scaling& scaling,
                                          ErrorLanes& lanes) noexcept {
    const __m256d no_sign = _mm256_castsi256_pd(_mm256_set1_epi64x(0x7fffffffffffffff));
    const __m256d scale = _mm256_set1_pd(scaling.scale), offset = _mm256_set1_pd(scaling.offset);
    const __m256d inf = _mm256_set1_pd(std::numeric_limits<double>::infinity()), one = _mm256_set1_pd(1);
    const __m256d most = _mm256_set1_pd(std::numeric_limits<T>::max());
    for (std::size_t k = 0; k < kGroup; k += 4) {
      const __m256d value = four(values + k), half = four(halves + k);
      const __m256d read = _mm256_fmadd_pd(half, scale, offset);
      const __m256d error = _mm256_and_pd(no_sign, _mm256_sub_pd(value, read));
      const __m256d finite = _mm256_cmp_pd(_mm256_and_pd(no_sign, value), inf, _CMP_LT_OQ);
      const __m256d fits = _mm256_cmp_pd(_mm256_and_pd(no_sign, read), most, _CMP_LE_OQ);
      const __m256d wrong = _mm256_and_pd(_mm256_andnot_pd(fits, finite), one);
      const __m256d counted = _mm256_and_pd(_mm256_and_pd(fits, finite), error);
      _mm256_storeu_pd(lanes.overflowed + k, _mm256_add_pd(_mm256_loadu_pd(lanes.overflowed + k), wrong));
      _mm256_storeu_pd(lanes.reached + k, _mm256_max_pd(_mm256_loadu_pd(lanes.reached + k), counted));
    }
  }
};
#endif

// `count` is a multiple of kGroup, at most kBlock.
template <class Convert, class T>
inline __attribute__((always_inline)) void quantize_block(const T* values, std::size_t count, const Scaling& scaling,
                                                          double inverse, Half* out, ErrorLanes& lanes) noexcept {
  float buffer[kBlock];
  for (std::size_t i = 0; i < count; ++i)
    buffer[i] = static_cast<float>((static_cast<double>(values[i]) - scaling.offset) * inverse);
  for (std::size_t i = 0; i < count; i += kGroup) Convert::there(buffer + i, out + i);
  for (std::size_t i = 0; i < count; i += kGroup) Convert::back(out + i, buffer + i);
  for (std::size_t i = 0; i < count; i += kGroup) Convert::compare(values + i, buffer + i, scaling, lanes);
}

template <class Convert, class T>
inline __attribute__((always_inline)) Quantized quantize_with(const T* values, std::size_t count, const Scaling& scaling,
                                                              Half* out) noexcept {
  const double inverse = 1 / scaling.scale;
  ErrorLanes lanes;
  const std::size_t whole = count / kGroup * kGroup;
  for (std::size_t i = 0; i < whole; i += kBlock)
    quantize_block<Convert>(values + i, std::min(kBlock, whole - i), scaling, inverse, out + i, lanes);
  T rest[kGroup];
  Half halves[kGroup];
  std::fill_n(rest, kGroup, std::numeric_limits<T>::quiet_NaN());  // ignored by the comparison
  std::copy_n(values + whole, count - whole, rest);
  quantize_block<Convert>(rest, kGroup, scaling, inverse, halves, lanes);
  std::copy_n(halves, count - whole, out + whole);
  Quantized quantized;
  quantized.largest_error = *std::max_element(lanes.reached, lanes.reached + kGroup);
  for (const double overflowed : lanes.overflowed) quantized.overflowed += static_cast<std::uint64_t>(overflowed);
  return quantized;
}

#ifdef DAMARIS_CODEC_X86
template <class T>
DAMARIS_TARGET_AVX2 Quantized quantize_f16c(const T* values, std::size_t count, const Scaling& scaling, Half* out) noexcept {
  return quantize_with<F16cHalf>(values, count, scaling, out);
}
#endif

template <class T>
Quantized quantize_any(const T* values, std::size_t count, const Scaling& scaling, Half* out) {
  check_scaling(scaling);
#ifdef DAMARIS_CODEC_X86
  if (best_simd() != Simd::kPortable) return quantize_f16c(values, count, scaling, out);
#endif
  return quantize_with<PortableHalf>(values, count, scaling, out);
}

// A smaller scale has no inverse.
constexpr double kMinScale = std::numeric_limits<double>::min();

// 2^(16 k): maps the farthest value to between 2^-1 and 2^15, so that small values stay as far above the smallest half as with any
// other scale.
double common_scale(double farthest) noexcept {
  constexpr int kStep = 16, kHighest = 1008;  // 2^1024 is not representable: values beyond the last scale overflow
  constexpr double kLeast = 1e-290;
  if (farthest == 0) return 1;
  if (farthest < kLeast) return std::max(farthest, kMinScale);
  int exponent = 0;  // farthest < 2^exponent
  std::frexp(farthest, &exponent);
  return std::ldexp(1.0, std::min(static_cast<int>(std::floor(static_cast<double>(exponent) / kStep)) * kStep, kHighest));
}

}  // namespace

void check_bound(const ErrorBound& bound) {
  const bool is_relative = bound.kind == ErrorKind::kRelative;
  if (bound.value > 0 && bound.value <= std::numeric_limits<double>::max() && (!is_relative || bound.value < 1)) return;
  throw Error(DC_E_CONFIG, std::string("a declared ") + (is_relative ? "relative" : "absolute") + " error of " +
                               number_text(bound.value) + " cannot be kept; declare one above 0" +
                               (is_relative ? " and below 1, such as 1e-3" : ", in the variable's unit") +
                               ", or a lossless filter");
}

double round_to(const float* values, std::size_t count, const ErrorBound& bound, float* out) {
  return round_any(values, count, bound, out);
}
double round_to(const double* values, std::size_t count, const ErrorBound& bound, double* out) {
  return round_any(values, count, bound, out);
}

template <class T>
Scaling scaling_for(const Range<T>& range) noexcept {
  if (!range.finite) return {};
  const double low = range.min, high = range.max;
  const double nearest = std::min(std::fabs(low), std::fabs(high)), farthest = std::max(std::fabs(low), std::fabs(high));
  const bool far_from_zero = (low > 0 || high < 0) && high - low < nearest;
  if (!far_from_zero) return {common_scale(farthest), 0};
  const double offset = low + (high - low) / 2;
  const double scale = std::max(high - offset, offset - low);
  return {scale > 0 ? std::max(scale, kMinScale) : 1, offset};
}
template Scaling scaling_for(const Range<float>& range) noexcept;
template Scaling scaling_for(const Range<double>& range) noexcept;

// Between two powers of two, halves are spaced by 2^-10 of the lower one; below 2^-14 the spacing is constant.
template <class T>
double rounding_error(const Range<T>& range, const Scaling& scaling) noexcept {
  if (!range.finite) return 0;
  if (!is_invertible(scaling)) return std::numeric_limits<double>::infinity();
  const double scale = std::fabs(scaling.scale), low = range.min, high = range.max;
  const double farthest = std::max(std::fabs(high - scaling.offset), std::fabs(low - scaling.offset)) / scale;
  if (farthest == 0) return 0;
  if (!(farthest < kHalfOverflow)) return std::numeric_limits<double>::infinity();
  int exponent = 0;
  const bool power_of_two = std::frexp(farthest, &exponent) == 0.5;
  return scale * std::ldexp(1.0, std::max(exponent - (power_of_two ? 2 : 1), -14) - 11);
}
template double rounding_error(const Range<float>& range, const Scaling& scaling) noexcept;
template double rounding_error(const Range<double>& range, const Scaling& scaling) noexcept;

bool is_invertible(const Scaling& scaling) noexcept { return std::isnormal(scaling.scale) && std::isfinite(scaling.offset); }

void check_scaling(const Scaling& scaling) {
  if (is_invertible(scaling)) return;
  throw Error(DC_E_CONFIG,
              "16 bits with scale " + number_text(scaling.scale) + " and offset " + number_text(scaling.offset) +
                  " cannot be dequantized; give a finite scale that is not zero and a finite offset, or neither of them");
}

Quantized quantize(const float* values, std::size_t count, const Scaling& scaling, Half* out) {
  return quantize_any(values, count, scaling, out);
}
Quantized quantize(const double* values, std::size_t count, const Scaling& scaling, Half* out) {
  return quantize_any(values, count, scaling, out);
}

Half to_half(float value) noexcept {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > kFloatInf) return static_cast<Half>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= kHalfMost) return static_cast<Half>(sign | 0x7c00);
  if (magnitude >= 0x38800000)  // normal halves: rebias the exponent, round the bits dropped
    return static_cast<Half>(sign | ((magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13));
  float small;  // the addition rounds so that the half's bits end up lowest
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

}  // namespace damaris::codec
