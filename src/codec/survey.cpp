#include "survey.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace damaris::codec {
namespace {

constexpr std::size_t kGroup = 64;     // bytes looked at together
constexpr std::size_t kGroups = 4;     // of each unit
constexpr double kManyPairs = 1.4;     // pairs of equal bytes, against as many as noise has
constexpr double kManyMatches = 0.02;  // share of the positions where a match begins

}  // namespace

Survey::Survey(const unsigned char* data, std::size_t begin, std::size_t end, const Distances& distances, Simd simd) noexcept
    : data_(data), place_(begin), end_(end), distances_(distances), simd_(simd) {}

std::size_t Survey::unit_end(std::size_t begin) const noexcept { return end_ - begin < kUnit + kUnit / 2 ? end_ : begin + kUnit; }

// Noise of n bytes has n (n - 1) / 512 pairs of equal ones; what a Huffman code can shorten has clearly more.
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
    if (next_is_encoded_ != piece.encoded || (piece.encoded && end - piece.begin > kLongestEncoded)) break;
    known_ = false;
    piece.end = place_ = end;
  }
  return piece;
}

}  // namespace damaris::codec
