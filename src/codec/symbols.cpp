#include "symbols.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "equal.hpp"

namespace damaris::codec {
namespace {

// The distances that stay within the data; others are replaced by 1, the first.
using Reach = std::array<std::uint32_t, kMaxDistances>;

inline Reach reach_at(std::size_t place, const Distances& distances) noexcept {
  Reach reach;
  for (std::size_t d = 0; d < kMaxDistances; ++d)
    reach[d] = d < distances.count && distances.values[d] <= place ? distances.values[d] : 1;
  return reach;
}

struct Match {
  std::size_t length;
  std::size_t index;
};

// Extends the nearest match of at least 63 bytes as far as possible.
template <class Equal>
inline __attribute__((always_inline)) std::size_t extend(const unsigned char* at, std::size_t distance, std::size_t most) noexcept {
  for (std::size_t length = 0; length < most; length += 64) {
    const std::uint64_t differ = ~Equal::at(at + length, distance);
    if (differ != 0) return length + static_cast<std::size_t>(__builtin_ctzll(differ));
  }
  return most;
}

// The longest match, and of equally long ones the nearest. The next position depends on the length, so the length is computed in
// few dependent steps, without a branch up to 62 bytes; the distance may take longer.
template <class Equal>
inline __attribute__((always_inline)) Match longest(const unsigned char* at, const Reach& reach, std::size_t most) noexcept {
  std::uint64_t equal[kMaxDistances];
  std::uint64_t any = 0;  // bits 0 to length
#pragma GCC unroll 8
  for (std::size_t d = 0; d < kMaxDistances; ++d) {
    equal[d] = Equal::at(at, reach[d]);
    any |= equal[d] ^ (equal[d] + 1);
  }
  const std::uint64_t mask = any >> 1;
  std::size_t index = 0;
#pragma GCC unroll 8
  for (std::size_t d = kMaxDistances - 1; d > 0; --d) index = (~equal[d] & mask) == 0 ? d : index;
  index = (~equal[0] & mask) == 0 ? 0 : index;
  if (__builtin_expect(any == ~std::uint64_t{0}, 0)) return {extend<Equal>(at, reach[index], most), index};
  return {static_cast<std::size_t>(__builtin_ctzll(~mask)), index};
}

// The first position from `from` on where a match may start; `end` or more if there is none.
inline std::size_t next_start(const std::uint64_t* starts, std::size_t from, std::size_t end) noexcept {
  while (from < end) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, reinterpret_cast<const unsigned char*>(starts) + from / 8, 8);
    bits >>= from % 8;
    if (__builtin_expect(bits != 0, 1)) return from + static_cast<std::size_t>(__builtin_ctzll(bits));
    from = (from / 8 + 8) * 8;
  }
  return end;
}

// The progress of one half.
struct Cursor {
  std::size_t place, end;
  Symbol* out;
};

// Parses the literals up to the next match, and the match.
template <class Equal>
inline __attribute__((always_inline)) void step(const unsigned char* data, const std::uint64_t* starts, std::size_t base,
                                                const Distances& distances, bool near_begin, const Reach& far_reach,
                                                Cursor& cursor) noexcept {
  const std::size_t start = std::min(next_start(starts, cursor.place - base, cursor.end - base) + base, cursor.end);
  Equal::widen(data + cursor.place, start - cursor.place, cursor.out);
  cursor.out += start - cursor.place;
  cursor.place = start;
  const std::size_t left = cursor.end - start;
  if (__builtin_expect(left < kMinMatch, 0)) {
    while (cursor.place < cursor.end) *cursor.out++ = data[cursor.place++];
    return;
  }
  const Match match = __builtin_expect(near_begin, 0) ? longest<Equal>(data + start, reach_at(start, distances), kMaxMatch)
                                                      : longest<Equal>(data + start, far_reach, kMaxMatch);
  const std::size_t length = std::min(match.length, std::min(kMaxMatch, left));
  cursor.out[0] = static_cast<Symbol>(kLengthBase + length - kMinMatch);
  cursor.out[1] = static_cast<Symbol>(kDistanceBase + match.index);
  cursor.out += 2;
  cursor.place += length;
}

template <class Equal>
inline __attribute__((always_inline)) Halves parse_with(const unsigned char* data, std::size_t begin, std::size_t end,
                                                        const Distances& distances, const std::uint64_t* starts,
                                                        Symbol* symbols) noexcept {
  const std::size_t base = begin / 64 * 64, middle = begin + (end - begin) / 2;
  const bool near_begin = begin < distances.values[distances.count - 1];
  const Reach reach = reach_at(begin, distances);
  Symbol* second = symbols + (middle - begin) + 64;
  Cursor a{begin, middle, symbols}, b{middle, end, second};
  while (a.place < a.end && b.place < b.end) {
    step<Equal>(data, starts, base, distances, near_begin, reach, a);
    step<Equal>(data, starts, base, distances, near_begin, reach, b);
  }
  while (a.place < a.end) step<Equal>(data, starts, base, distances, near_begin, reach, a);
  while (b.place < b.end) step<Equal>(data, starts, base, distances, near_begin, reach, b);
  return {{{symbols, static_cast<std::size_t>(a.out - symbols)}, {second, static_cast<std::size_t>(b.out - second)}}};
}

#ifdef DAMARIS_CODEC_X86
DAMARIS_TARGET_AVX2 Halves parse_avx2(const unsigned char* data, std::size_t begin, std::size_t end, const Distances& distances,
                                      const std::uint64_t* starts, Symbol* symbols) noexcept {
  return parse_with<Avx2Equal>(data, begin, end, distances, starts, symbols);
}
DAMARIS_TARGET_AVX512 Halves parse_avx512(const unsigned char* data, std::size_t begin, std::size_t end, const Distances& distances,
                                          const std::uint64_t* starts, Symbol* symbols) noexcept {
  return parse_with<Avx512Equal>(data, begin, end, distances, starts, symbols);
}
#endif

}  // namespace

Halves parse(const unsigned char* data, std::size_t begin, std::size_t end, const Distances& distances, const std::uint64_t* starts,
             Symbol* symbols, Simd simd) noexcept {
#ifdef DAMARIS_CODEC_X86
  if (simd == Simd::kAvx512) return parse_avx512(data, begin, end, distances, starts, symbols);
  if (simd == Simd::kAvx2) return parse_avx2(data, begin, end, distances, starts, symbols);
#endif
  (void)simd;
  return parse_with<PortableEqual>(data, begin, end, distances, starts, symbols);
}

}  // namespace damaris::codec
