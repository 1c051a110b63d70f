#include "symbols.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "equal.hpp"

namespace damaris::codec {
namespace {

// Marks the third of three equal bytes, so that only the previous word has to be kept; matches start two bits before the marks.
template <class Equal>
inline __attribute__((always_inline)) void find(const unsigned char* data, std::size_t begin, std::size_t end,
                                                const Distances& distances, std::uint64_t* starts) noexcept {
  std::uint64_t before[kMaxDistances] = {};
  std::uint64_t waiting = 0;  // ends of the word before
  std::size_t usable = 0;
  const std::size_t words = (end + 63) / 64;
  for (std::size_t word = begin / 64; word <= words; ++word) {
    std::uint64_t ends = 0;
    while (usable < distances.count && distances.values[usable] <= word * 64) ++usable;
    for (std::size_t d = 0; word < words && d < usable; ++d) {
      if (d == 1 && ends == ~std::uint64_t{0}) {  // a run of one byte: other distances add nothing
        std::fill_n(before + 1, kMaxDistances - 1, std::uint64_t{0});
        break;
      }
      const std::uint64_t equal = Equal::at(data + word * 64, distances.values[d]);
      ends |= equal & (equal << 1 | before[d] >> 63) & (equal << 2 | before[d] >> 62);
      before[d] = equal;
    }
    if (word > begin / 64) *starts++ = waiting >> 2 | ends << 62;
    waiting = ends;
  }
  *starts = 0;
}

#ifdef DAMARIS_CODEC_X86
DAMARIS_TARGET_AVX2 void find_avx2(const unsigned char* data, std::size_t begin, std::size_t end, const Distances& distances,
                                   std::uint64_t* starts) noexcept {
  find<Avx2Equal>(data, begin, end, distances, starts);
}
DAMARIS_TARGET_AVX512 void find_avx512(const unsigned char* data, std::size_t begin, std::size_t end, const Distances& distances,
                                       std::uint64_t* starts) noexcept {
  find<Avx512Equal>(data, begin, end, distances, starts);
}
#endif

constexpr std::size_t kGroup = 64;     // bytes examined together
constexpr std::size_t kGroups = 4;     // of each unit
constexpr double kManyPairs = 1.4;     // ratio of pairs of equal bytes to those in noise
constexpr double kManyMatches = 0.02;  // share of the positions where a match begins

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

Distances Distances::of_row(std::uint64_t row) noexcept {
  Distances result;
  const std::uint64_t wanted[kMaxDistances] = {1, row - 2, row - 1, row, row + 1, row + 2};
  for (const std::uint64_t distance : wanted) {
    const bool fits = distance >= 1 && distance <= 32768 && (row > 0 || distance == 1);
    if (fits && (result.count == 0 || distance > result.values[result.count - 1]))
      result.values[result.count++] = static_cast<std::uint32_t>(distance);
  }
  return result;
}

void find_matches(const unsigned char* data, std::size_t begin, std::size_t end, const Distances& distances, std::uint64_t* starts,
                  Simd simd) noexcept {
#ifdef DAMARIS_CODEC_X86
  if (simd == Simd::kAvx512) return find_avx512(data, begin, end, distances, starts);
  if (simd == Simd::kAvx2) return find_avx2(data, begin, end, distances, starts);
#endif
  (void)simd;
  find<PortableEqual>(data, begin, end, distances, starts);
}

Survey::Survey(const unsigned char* data, std::size_t begin, std::size_t end, const Distances& distances, Simd simd) noexcept
    : data_(data), place_(begin), end_(end), distances_(distances), simd_(simd) {}

std::size_t Survey::unit_end(std::size_t begin) const noexcept { return end_ - begin < kUnit + kUnit / 2 ? end_ : begin + kUnit; }

// Noise of n bytes has n (n - 1) / 512 pairs of equal bytes; data that a Huffman code can shorten has clearly more.
bool Survey::worth_encoding(std::size_t begin, std::size_t end) const noexcept {
  if (end - begin < kGroups * kGroup) return true;
  constexpr std::size_t kBytes = kGroups * kGroup;
  const std::size_t stride = (end - begin - kGroup) / (kGroups - 1);
  std::array<std::uint8_t, 256> seen = {};
  std::size_t pairs = 0;
  for (std::size_t group = begin, g = 0; g < kGroups; ++g, group += stride) {
    for (std::size_t k = 0; k < kGroup; ++k) pairs += seen[data_[group + k]]++;
    if (pairs > kManyPairs * kBytes * (kBytes - 1) / 512) return true;
  }
  std::size_t matches = 0;
  for (std::size_t group = begin, g = 0; g < kGroups; ++g, group += stride) {
    std::uint64_t starts[3];
    const std::size_t word = group / 64 * 64;
    find_matches(data_, word, word + 64, distances_, starts, simd_);
    matches += static_cast<std::size_t>(__builtin_popcountll(starts[0]));
  }
  return matches > kManyMatches * kBytes;
}

SurveySpan Survey::next() noexcept {
  SurveySpan piece{place_, place_, false};
  while (place_ < end_) {
    const std::size_t end = unit_end(place_);
    if (!known_) next_is_encoded_ = worth_encoding(place_, end);
    known_ = true;
    if (piece.end == piece.begin) piece.encoded = next_is_encoded_;
    if (next_is_encoded_ != piece.encoded || (piece.encoded && end - piece.begin > kMaxEncoded)) break;
    known_ = false;
    piece.end = place_ = end;
  }
  return piece;
}

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
