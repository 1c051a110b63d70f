// Which vector instructions the codecs use: the best that this processor supports, unless limited.
// Used by: the codecs, any thread of the server.
// Before it: environment DAMARIS_SIMD. After it: the variant of each inner loop.
#pragma once

namespace damaris::codec {

// Each includes the previous one. kAvx512 means F, BW, VL and VBMI, as in Ice Lake, Zen 4 and later.
enum class Simd { kPortable, kAvx2, kAvx512 };

// What this processor supports, capped by DAMARIS_SIMD=portable|avx2|avx512; other values are ignored.
// Threads: any. Returns: the same value for the whole run, even if the environment changes.
Simd best_simd() noexcept;
// The lesser of `wanted` and best_simd().
Simd at_most(Simd wanted) noexcept;
const char* name_of(Simd simd) noexcept;

}  // namespace damaris::codec

#if defined(__x86_64__) && defined(__GNUC__)
#define DAMARIS_CODEC_X86 1
#define DAMARIS_TARGET_AVX2 __attribute__((target("avx2,bmi,bmi2,f16c,fma")))
#define DAMARIS_TARGET_AVX512 __attribute__((target("avx2,bmi,bmi2,f16c,fma,avx512f,avx512bw,avx512vl,avx512vbmi")))
#endif
