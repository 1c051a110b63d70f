// A byte plane as literals and matches, in the flat form the emitter goes through without a branch.
// Used by: the byte-plane deflate, one worker thread each.
// Before it: the bits of find_matches. After it: the Huffman code and the emitter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "survey.hpp"

namespace damaris::codec {

// A symbol: 0 to 255 a literal; kLengthBase + length - 3, always followed by kDistanceBase + index of the distance.
using Symbol = std::uint16_t;
constexpr std::size_t kLengthBase = 256;
constexpr std::size_t kLongestMatch = 258;
constexpr std::size_t kDistanceBase = 512;
constexpr std::size_t kSymbolKinds = kDistanceBase + kMostDistances;

// A run of symbols. Owns nothing.
struct Symbols {
  const Symbol* data = nullptr;
  std::size_t count = 0;
};
// The halves of a piece, parsed at the same time: each place depends on the match before it, and a processor does two such chains
// in the time of one.
using Halves = std::array<Symbols, 2>;

// How many symbols parse() may write for so many bytes.
constexpr std::size_t room_for(std::size_t bytes) noexcept { return bytes + 256; }

// Turns data[begin, end) into symbols, greedily; matches reach back before `begin` but not beyond `end`.
// `starts` is from find_matches for the same range. Reads up to 64 bytes beyond `end`. Owns: the result lies in `symbols`.
Halves parse(const unsigned char* data, std::size_t begin, std::size_t end, const Distances& distances, const std::uint64_t* starts,
             Symbol* symbols, Simd simd) noexcept;

}  // namespace damaris::codec
