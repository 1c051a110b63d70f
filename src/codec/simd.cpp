#include "simd.hpp"

#ifdef DAMARIS_CODEC_X86
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace damaris::codec {
namespace {

#ifdef DAMARIS_CODEC_X86
// Not every compiler's __builtin_cpu_supports accepts "f16c".
bool has_f16c() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

Simd supported() noexcept {
#ifdef DAMARIS_CODEC_X86
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("fma") && has_f16c();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi");
  if (avx2) return avx512 ? Simd::kAvx512 : Simd::kAvx2;
#endif
  return Simd::kPortable;
}

Simd cap_of_environment() noexcept {
  const char* value = std::getenv("DAMARIS_SIMD");
  for (const Simd simd : {Simd::kPortable, Simd::kAvx2})
    if (value != nullptr && std::strcmp(value, name_of(simd)) == 0) return simd;
  return Simd::kAvx512;
}

}  // namespace

Simd best_simd() noexcept {
  static const Simd best = std::min(supported(), cap_of_environment());
  return best;
}

Simd at_most(Simd wanted) noexcept { return std::min(wanted, best_simd()); }

const char* name_of(Simd simd) noexcept {
  switch (simd) {
    case Simd::kPortable:
      return "portable";
    case Simd::kAvx2:
      return "avx2";
    case Simd::kAvx512:
      return "avx512";
  }
  return "";
}

}  // namespace damaris::codec
