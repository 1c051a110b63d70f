// Rounds floating-point values within a declared error bound, so that their last bits become zeros and compress well.
// Used by: worker threads of the server, before an encoder.
// Before it: a block, its bound from the XML. After it: an encoder; the manifest records the error reached.
#pragma once

#include <cstddef>

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

}  // namespace damaris::codec
