// Values with fewer bits. Rounded within a declared error bound, so that their last bits become zeros and compress well; or quantized to 16-bit
// floating point with scale and offset, dequantized as in the CF conventions: value = half * scale + offset.
// Used by: worker threads of the server, before an encoder; messages of the hdf5 plugin.
// Before it: a block; its bound from the XML, or its range. After it: an encoder, for halves of 2-byte elements; the manifest records the error
// reached; attributes scale_factor and add_offset.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>

#include "range.hpp"

namespace damaris::codec {

enum class ErrorKind {
  kAbsolute,  // |x - r| <= bound, in the variable's unit
  kRelative   // |x - r| <= bound |x|
};

struct ErrorBound {
  ErrorKind kind = ErrorKind::kRelative;
  double value = 0;
};

// Throws Error(DC_E_CONFIG) unless the bound is positive and finite, and below 1 for kRelative.
void check_bound(const ErrorBound& bound);

// Writes the rounded values to `out`, which may be `values`. Rounds to nearest, ties to even. NaN, Inf and zeros are unchanged, bit
// for bit; so are denormals if the bound is relative. No value becomes Inf.
// Units: `count` values. Threads: any; pure. Throws like check_bound. Returns the largest error reached, of the bound's kind; it
// never exceeds the bound.
double round_to(const float* values, std::size_t count, const ErrorBound& bound, float* out);
double round_to(const double* values, std::size_t count, const ErrorBound& bound, double* out);

// IEEE 754 binary16: 5 bits of exponent, 10 of mantissa; in HDF5 a user-defined float type, which any reader converts.
using Half = std::uint16_t;

struct Scaling {
  double scale = 1;
  double offset = 0;
};

// A scaling with which no value of the range overflows, unless the range reaches 65520 * 2^1008 or comes within half a half of the
// largest T. If the range contains zero or spans orders of magnitude, the offset is 0, so that zeros stay zeros, and the scale is
// one of a few powers of two, so that ranges of similar magnitude get the same scale. If the values are far from zero, the offset
// is the middle of the range, and |half| <= 1.
template <class T>
Scaling scaling_for(const Range<T>& range) noexcept;

// The largest error that rounding to halves can cause within the range; infinite if an end of the range overflows or the scaling is
// not invertible.
template <class T>
double rounding_error(const Range<T>& range, const Scaling& scaling) noexcept;

// Whether the scale is a normal number, so that it has an inverse, and the offset is finite.
bool is_invertible(const Scaling& scaling) noexcept;
// Throws Error(DC_E_CONFIG) unless is_invertible().
void check_scaling(const Scaling& scaling);

struct Quantized {
  double largest_error = 0;  // |value - (half * scale + offset)| over the finite values, in the variable's unit
  // Finite values that became Inf in `out`, or exceed their type when read back. If not 0, the caller keeps them so, or refuses.
  std::uint64_t overflowed = 0;
};

// Writes one half per value; NaN stays NaN, and Inf keeps its sign.
// Units: `count` values. Threads: any; pure. Throws like check_scaling.
Quantized quantize(const float* values, std::size_t count, const Scaling& scaling, Half* out);
Quantized quantize(const double* values, std::size_t count, const Scaling& scaling, Half* out);

// Convert single values; round to nearest, ties to even.
Half to_half(float value) noexcept;
float from_half(Half half) noexcept;

// For a message: 1e+300 instead of 301 digits, with a decimal point in every locale.
inline std::string number_text(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6);
  return {text, end.ptr};
}

}  // namespace damaris::codec
