// CRC-32 of a block that is read as four streams at once: memory answers several streams faster than one, and they hide each other's
// latencies. Private to checksum.cpp and range.cpp.
// Used by: the server's dispatch thread and its workers.
// Before it: a block in no cache. After it: its checksum, and whatever `Taker` made of its values on the way.
#pragma once

#include "simd.hpp"

#ifdef DAMARIS_CODEC_X86
#include <immintrin.h>
#include <libdeflate.h>

#include <cstddef>
#include <cstdint>

#include "checksum.hpp"

namespace damaris::codec {

constexpr int kStreams = 4;
constexpr std::size_t kStreamStep = 64;                   // bytes: a vector
constexpr std::size_t kWorthStreams = std::size_t{4096};  // bytes of a block

// x^n modulo the polynomial of CRC-32, as one half of a carry-less product that puts x^0 into the highest bit.
constexpr std::uint64_t power_of_x(int n) {
  std::uint32_t value = 0x80000000U;
  for (int i = 0; i < n; ++i) value = (value & 1U) != 0 ? value >> 1 ^ 0xEDB88320U : value >> 1;
  return std::uint64_t{value} << 32;
}

inline std::size_t bytes_of_stream(std::size_t size_bytes) { return size_bytes / kStreams / kStreamStep * kStreamStep; }

// CRC-32 of kStreams * stream_bytes bytes, which are a multiple of kStreamStep and not 0. Calls taker.take(stream, vector) for all of them.
template <class Taker>
DAMARIS_TARGET_AVX512 inline std::uint32_t crc32_of_streams(const std::byte* data, std::size_t stream_bytes, std::uint32_t before,
                                                            Taker& taker) noexcept {
  constexpr int kBits = 8 * static_cast<int>(kStreamStep);
  constexpr std::size_t kAhead = 1024;  // bytes: the hardware stops at each page
  constexpr long long kHigh = static_cast<long long>(power_of_x(kBits + 63)), kLow = static_cast<long long>(power_of_x(kBits - 1));
  const __m512i fold = _mm512_set_epi64(kLow, kHigh, kLow, kHigh, kLow, kHigh, kLow, kHigh);
  __m512i sums[kStreams];
  for (int s = 0; s < kStreams; ++s) {
    const __m512i values = _mm512_loadu_si512(data + static_cast<std::size_t>(s) * stream_bytes);
    const auto start = static_cast<int>(s == 0 ? ~before : ~0U);
    taker.take(s, values);
    sums[s] = _mm512_xor_si512(values, _mm512_zextsi128_si512(_mm_cvtsi32_si128(start)));
  }
  for (std::size_t i = kStreamStep; i < stream_bytes; i += kStreamStep)
    for (int s = 0; s < kStreams; ++s) {
      const std::byte* const next = data + static_cast<std::size_t>(s) * stream_bytes + i;
      _mm_prefetch(next + kAhead, _MM_HINT_T0);
      const __m512i values = _mm512_loadu_si512(next);
      taker.take(s, values);
      const __m512i high = _mm512_clmulepi64_epi128(sums[s], fold, 0x00), low = _mm512_clmulepi64_epi128(sums[s], fold, 0x11);
      sums[s] = _mm512_ternarylogic_epi64(high, low, values, 0x96);  // exclusive or of all three
    }
  // What is left of a stream has the remainder that the whole stream has.
  std::uint32_t checksum = 0;
  for (int s = 0; s < kStreams; ++s) {
    alignas(64) std::byte rest[kStreamStep];
    _mm512_store_si512(rest, sums[s]);
    const std::uint32_t one = libdeflate_crc32(~0U, rest, sizeof rest);
    checksum = s == 0 ? one : crc32_joined(checksum, one, stream_bytes);
  }
  return checksum;
}

}  // namespace damaris::codec
#endif
