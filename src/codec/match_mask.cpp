#include "match_mask.hpp"

#include <algorithm>

#include "equal.hpp"

namespace damaris::codec {
namespace {

// Of each run of three equal bytes the third, so that only the word before has to be kept; the starts are these two bits back.
template <class Equal>
inline __attribute__((always_inline)) void find(const unsigned char* data, std::size_t begin, std::size_t end,
                                                const Distances& distances, std::uint64_t* starts) noexcept {
  std::uint64_t before[kMostDistances] = {};
  std::uint64_t waiting = 0;  // ends of the word before
  std::size_t usable = 0;
  const std::size_t words = (end + 63) / 64;
  for (std::size_t word = begin / 64; word <= words; ++word) {
    std::uint64_t ends = 0;
    while (usable < distances.count && distances.values[usable] <= word * 64) ++usable;
    for (std::size_t d = 0; word < words && d < usable; ++d) {
      if (d == 1 && ends == ~std::uint64_t{0}) {  // all the same byte: the other distances tell nothing more
        std::fill_n(before + 1, kMostDistances - 1, std::uint64_t{0});
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
  const std::uint64_t wanted[kMostDistances] = {1, row - 2, row - 1, row, row + 1, row + 2};
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

}  // namespace damaris::codec
