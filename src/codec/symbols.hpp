// A byte plane as literals and matches, in a flat form that the emitter processes without branches.
// Used by: the byte-plane deflate, one worker thread each.
// Before it: the result of find_matches. After it: the Huffman code and the emitter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "survey.hpp"

namespace damaris::codec {

// A literal (0 to 255), or kLengthBase + length - 3, which is always followed by kDistanceBase + index of the distance.
using Symbol = std::uint16_t;
constexpr std::size_t kLengthBase = 256;
constexpr std::size_t kMaxMatch = 258;
constexpr std::size_t kDistanceBase = 512;
constexpr std::size_t kSymbolKinds = kDistanceBase + kMaxDistances;

// A run of symbols. Owns nothing.
struct Symbols {
  const Symbol* data = nullptr;
  std::size_t count = 0;
};
// The halves of a piece, parsed at the same time: each position depends on the match before it, and a processor executes two such
// dependency chains in the time of one.
using Halves = std::array<Symbols, 2>;

// The most symbols that parse() writes for `bytes`.
constexpr std::size_t max_symbols(std::size_t bytes) noexcept { return bytes + 256; }

// Converts data[begin, end) into symbols, greedily; matches may start before `begin` but do not extend beyond `end`.
// `starts` comes from find_matches for the same range. Reads up to 64 bytes beyond `end`. Owns: the result points into `symbols`.
Halves parse(const unsigned char* data, std::size_t begin, std::size_t end, const Distances& distances, const std::uint64_t* starts,
             Symbol* symbols, Simd simd) noexcept;

}  // namespace damaris::codec
