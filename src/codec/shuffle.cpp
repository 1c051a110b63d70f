#include "shuffle.hpp"

#include <algorithm>
#include <cstring>

#ifdef DAMARIS_CODEC_X86
#include <immintrin.h>
#endif

namespace damaris::codec {
namespace {

// From element `first` on, in pieces that stay in the cache while each of their bytes is visited.
void shuffle_rest(const std::byte* in, std::size_t first, std::size_t count, std::size_t size, std::byte* out) noexcept {
  constexpr std::size_t kPiece = 1024;
  for (std::size_t begin = first; begin < count; begin += kPiece) {
    const std::size_t end = std::min(begin + kPiece, count);
    for (std::size_t b = 0; b < size; ++b) {
      std::byte* plane = out + b * count;
      for (std::size_t i = begin; i < end; ++i) plane[i] = in[i * size + b];
    }
  }
}

#ifdef DAMARIS_CODEC_X86

// Each variant processes all whole groups and returns the number of elements processed.

DAMARIS_TARGET_AVX2 std::size_t shuffle4_avx2(const std::byte* in, std::size_t count, std::byte* out) noexcept {
  const __m256i gather =
      _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    __m256i v[4];
    for (std::size_t k = 0; k < 4; ++k) {
      v[k] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i * 4 + k * 32));
      v[k] = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(v[k], gather), order);  // 8 bytes of each plane
    }
    const __m256i a = _mm256_unpacklo_epi64(v[0], v[1]), b = _mm256_unpackhi_epi64(v[0], v[1]);
    const __m256i c = _mm256_unpacklo_epi64(v[2], v[3]), d = _mm256_unpackhi_epi64(v[2], v[3]);
    const __m256i planes[4] = {_mm256_permute2x128_si256(a, c, 0x20), _mm256_permute2x128_si256(b, d, 0x20),
                               _mm256_permute2x128_si256(a, c, 0x31), _mm256_permute2x128_si256(b, d, 0x31)};
    for (std::size_t k = 0; k < 4; ++k) _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + k * count + i), planes[k]);
  }
  return i;
}

DAMARIS_TARGET_AVX2 std::size_t shuffle2_avx2(const std::byte* in, std::size_t count, std::byte* out) noexcept {
  const __m256i low = _mm256_set1_epi16(0xff);
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i * 2));
    const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i * 2 + 32));
    const __m256i even = _mm256_packus_epi16(_mm256_and_si256(v, low), _mm256_and_si256(w, low));
    const __m256i odd = _mm256_packus_epi16(_mm256_srli_epi16(v, 8), _mm256_srli_epi16(w, 8));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_permute4x64_epi64(even, 0xd8));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + count + i), _mm256_permute4x64_epi64(odd, 0xd8));
  }
  return i;
}

// 16 elements: two 8 x 8 byte transpositions.
DAMARIS_TARGET_AVX2 std::size_t shuffle8_avx2(const std::byte* in, std::size_t count, std::byte* out) noexcept {
  const __m256i pair =
      _mm256_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    __m256i v[4];  // v[k]: elements 4k, 4k+1 | 4k+2, 4k+3, as pairs of bytes of the same plane
    for (std::size_t k = 0; k < 4; ++k)
      v[k] = _mm256_shuffle_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i * 8 + k * 32)), pair);
    const __m256i p02 = _mm256_permute2x128_si256(v[0], v[2], 0x20), q02 = _mm256_permute2x128_si256(v[0], v[2], 0x31);
    const __m256i p13 = _mm256_permute2x128_si256(v[1], v[3], 0x20), q13 = _mm256_permute2x128_si256(v[1], v[3], 0x31);
    const __m256i a = _mm256_unpacklo_epi16(p02, q02), b = _mm256_unpackhi_epi16(p02, q02);  // 4 elements a plane: 0-3 | 8-11
    const __m256i c = _mm256_unpacklo_epi16(p13, q13), d = _mm256_unpackhi_epi16(p13, q13);  // 4-7 | 12-15
    const __m256i planes[4] = {_mm256_unpacklo_epi32(a, c), _mm256_unpackhi_epi32(a, c), _mm256_unpacklo_epi32(b, d),
                               _mm256_unpackhi_epi32(b, d)};  // planes 2k, 2k+1 of elements 0-7 | 8-15
    for (std::size_t k = 0; k < 4; ++k) {
      const __m256i both = _mm256_permute4x64_epi64(planes[k], 0xd8);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 2 * k * count + i), _mm256_castsi256_si128(both));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + (2 * k + 1) * count + i), _mm256_extracti128_si256(both, 1));
    }
  }
  return i;
}

DAMARIS_TARGET_AVX512 std::size_t shuffle4_avx512(const std::byte* in, std::size_t count, std::byte* out) noexcept {
  alignas(64) unsigned char place[64];
  for (unsigned b = 0; b < 4; ++b)
    for (unsigned k = 0; k < 16; ++k) place[b * 16 + k] = static_cast<unsigned char>(k * 4 + b);
  const __m512i gather = _mm512_load_si512(place);
  std::size_t i = 0;
  for (; i + 64 <= count; i += 64) {
    __m512i v[4];
    for (std::size_t k = 0; k < 4; ++k) v[k] = _mm512_permutexvar_epi8(gather, _mm512_loadu_si512(in + i * 4 + k * 64));
    const __m512i a = _mm512_shuffle_i32x4(v[0], v[1], 0x44), b = _mm512_shuffle_i32x4(v[0], v[1], 0xee);
    const __m512i c = _mm512_shuffle_i32x4(v[2], v[3], 0x44), d = _mm512_shuffle_i32x4(v[2], v[3], 0xee);
    _mm512_storeu_si512(out + i, _mm512_shuffle_i32x4(a, c, 0x88));
    _mm512_storeu_si512(out + count + i, _mm512_shuffle_i32x4(a, c, 0xdd));
    _mm512_storeu_si512(out + 2 * count + i, _mm512_shuffle_i32x4(b, d, 0x88));
    _mm512_storeu_si512(out + 3 * count + i, _mm512_shuffle_i32x4(b, d, 0xdd));
  }
  return i;
}

#endif

std::size_t shuffle_groups(const std::byte* in, std::size_t count, std::size_t size, std::byte* out, Simd simd) noexcept {
#ifdef DAMARIS_CODEC_X86
  if (simd == Simd::kPortable) return 0;
  if (size == 2) return shuffle2_avx2(in, count, out);
  if (size == 4) return simd == Simd::kAvx512 ? shuffle4_avx512(in, count, out) : shuffle4_avx2(in, count, out);
  if (size == 8) return shuffle8_avx2(in, count, out);
#else
  (void)in, (void)count, (void)size, (void)out, (void)simd;
#endif
  return 0;
}

}  // namespace

void shuffle(const std::byte* in, std::size_t count, std::size_t size, std::byte* out, Simd simd) noexcept {
  if (count == 0 || size == 0) return;
  if (size == 1) {
    std::memcpy(out, in, count);
    return;
  }
  shuffle_rest(in, shuffle_groups(in, count, size, out, simd), count, size, out);
}

void unshuffle(const std::byte* in, std::size_t count, std::size_t size, std::byte* out) noexcept {
  for (std::size_t b = 0; b < size; ++b)
    for (std::size_t i = 0; i < count; ++i) out[i * size + b] = in[b * count + i];
}

}  // namespace damaris::codec
