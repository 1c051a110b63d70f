// Compares 64 bytes with those a distance before: the inner step of match search, one variant per instruction set.
// Used by: symbols.cpp of the byte-plane deflate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simd.hpp"

#ifdef DAMARIS_CODEC_X86
#include <immintrin.h>
#endif

namespace damaris::codec {

// at(): bit k is set if data[k] == data[k - distance].
// widen(): copies at least `count` bytes as 16-bit numbers; reads and writes up to 32 elements more.
struct PortableEqual {
  static std::uint64_t at(const unsigned char* data, std::size_t distance) noexcept {
    std::uint64_t bits = 0;
    for (unsigned k = 0; k < 64; k += 8) {
      std::uint64_t now = 0, before = 0;
      std::memcpy(&now, data + k, 8);
      std::memcpy(&before, data + k - distance, 8);
      const std::uint64_t x = now ^ before;  // equal bytes become zero
      const std::uint64_t zero = ~(((x & 0x7f7f7f7f7f7f7f7f) + 0x7f7f7f7f7f7f7f7f) | x | 0x7f7f7f7f7f7f7f7f);
      bits |= ((zero >> 7) * 0x0102040810204080 >> 56) << k;
    }
    return bits;
  }
  static void widen(const unsigned char* from, std::size_t count, std::uint16_t* to) noexcept {
    for (std::size_t k = 0; k < count; ++k) to[k] = from[k];
  }
};

#ifdef DAMARIS_CODEC_X86
struct Avx2Equal {
  DAMARIS_TARGET_AVX2 static std::uint64_t half(const unsigned char* data, std::size_t distance) noexcept {
    const __m256i now = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data));
    const __m256i before = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data - distance));
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(now, before)));
  }
  DAMARIS_TARGET_AVX2 static std::uint64_t at(const unsigned char* data, std::size_t distance) noexcept {
    return half(data, distance) | half(data + 32, distance) << 32;
  }
  DAMARIS_TARGET_AVX2 static void sixteen(const unsigned char* from, std::uint16_t* to) noexcept {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_cvtepu8_epi16(bytes));
  }
  DAMARIS_TARGET_AVX2 static void widen(const unsigned char* from, std::size_t count, std::uint16_t* to) noexcept {
    std::size_t k = 0;
    do {  // most runs are short: no branch for them
      sixteen(from + k, to + k);
      sixteen(from + k + 16, to + k + 16);
      k += 32;
    } while (__builtin_expect(k < count, 0));
  }
};

struct Avx512Equal {
  DAMARIS_TARGET_AVX512 static std::uint64_t at(const unsigned char* data, std::size_t distance) noexcept {
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(data), _mm512_loadu_si512(data - distance));
  }
  DAMARIS_TARGET_AVX512 static void widen(const unsigned char* from, std::size_t count, std::uint16_t* to) noexcept {
    std::size_t k = 0;
    do {
      const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + k));
      _mm512_storeu_si512(to + k, _mm512_cvtepu8_epi16(bytes));
      k += 32;
    } while (__builtin_expect(k < count, 0));
  }
};
#endif

}  // namespace damaris::codec
