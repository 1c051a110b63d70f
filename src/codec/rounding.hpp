// Rounds floating-point values to a declared error, so that their last bits become zeros and compress away.
// Used by: worker threads of the server, before an encoder.
// Before it: a block, its bound from the XML. After it: an encoder; the error reached goes into the manifest.
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

// Throws Error(DC_E_CONFIG) unless the bound is a positive finite number, for kRelative below 1.
void check_bound(const ErrorBound& bound);

// Writes the rounded values to `out`, which may be `values`. NaN, Inf and zeros stay what they are, bit for bit; denormals too where
// the bound is relative. No value becomes Inf. To nearest, ties to even.
// Units: `count` values. Threads: any; pure. Throws as check_bound. Returns the largest error reached, of the kind of the bound,
// never above it.
double round_to(const float* values, std::size_t count, const ErrorBound& bound, float* out);
double round_to(const double* values, std::size_t count, const ErrorBound& bound, double* out);

}  // namespace damaris::codec
