// 16-bit floating point with a scale and an offset, as CF conventions dequantize it: value = half * scale + offset.
// Used by: worker threads of the server, before an encoder.
// Before it: a block and its range. After it: an encoder for 2-byte elements; attributes scale_factor and add_offset.
#pragma once

#include <cstddef>
#include <cstdint>

#include "range.hpp"

namespace damaris::codec {

// An IEEE 754 binary16: 5 bits of exponent, 10 of mantissa; in HDF5 a float type of one's own, which any reader converts.
using Half = std::uint16_t;

struct Scaling {
  double scale = 1;
  double offset = 0;
};

// One with which nothing of the range overflows, unless it reaches 65520 * 2^1008, or the largest number of T but for half a half. Without offset where the range holds zero or spans magnitudes, so that zeros stay
// zeros; the scale is then one of few powers of two, so that ranges of similar magnitude get the same. Around the middle where the
// values are far from zero: there |half| <= 1.
template <class T>
Scaling scaling_for(const Range<T>& range) noexcept;

// The largest error that rounding to halves may give a value of the range; infinite when one of its ends overflows
// or the scaling cannot be undone.
template <class T>
double rounding_error(const Range<T>& range, const Scaling& scaling) noexcept;

// Whether the scale is a normal number, so that it has an inverse, and the offset finite.
bool can_be_undone(const Scaling& scaling) noexcept;
// Throws Error(DC_E_CONFIG) unless can_be_undone().
void check_scaling(const Scaling& scaling);

struct Quantized {
  double largest_error = 0;  // |value - (half * scale + offset)| over the finite values, in the variable's unit
  std::uint64_t overflowed =
      0;  // finite values that are Inf in `out`, or beyond their type when read: not 0 means keep that, or refuse
};

// Writes one half for each value; NaN stays NaN and Inf stays Inf of its sign.
// Units: `count` values. Threads: any; pure. Throws as check_scaling.
Quantized quantize(const float* values, std::size_t count, const Scaling& scaling, Half* out);
Quantized quantize(const double* values, std::size_t count, const Scaling& scaling, Half* out);

// Single values, to nearest, ties to even.
Half to_half(float value) noexcept;
float from_half(Half half) noexcept;

}  // namespace damaris::codec
