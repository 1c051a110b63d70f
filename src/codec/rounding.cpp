#include "rounding.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <damaris/error.hpp>
#include <limits>
#include <string>

#include "number_text.hpp"
#include "simd.hpp"

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

}  // namespace damaris::codec
