#include "survey.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

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

namespace {

constexpr std::size_t kGroup = 64;     // bytes examined together
constexpr std::size_t kGroups = 4;     // of each unit
constexpr double kManyPairs = 1.4;     // ratio of pairs of equal bytes to those in noise
constexpr double kManyMatches = 0.02;  // share of the positions where a match begins

}  // namespace

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

}  // namespace damaris::codec
