// A byte plane before its Huffman codes: which parts of it are worth encoding, as samples tell, where its bytes repeat, and the literals and
// matches of those parts, in a flat form that the emitter processes without branches.
// Used by: the byte-plane deflate, one worker thread each.
// Before it: shuffled bytes. After it: pieces that are stored unencoded, and pieces that become a block with its own codes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "simd.hpp"

namespace damaris::codec {

constexpr std::size_t kMaxDistances = 6;
constexpr std::size_t kMinMatch = 3;

// Strictly ascending, 1 to 32768.
struct Distances {
  std::array<std::uint32_t, kMaxDistances> values = {};
  std::size_t count = 0;

  // The distances worth searching in rows of `row` elements; 0: unknown row length.
  static Distances of_row(std::uint64_t row) noexcept;
};

// The most words that find_matches() writes for a range of `bytes`, wherever it begins: those that it touches, and one more.
constexpr std::size_t start_words(std::size_t bytes) noexcept { return bytes / 64 + 3; }

// Sets bit i of starts[w] if the three bytes at data[64 (begin / 64 + w) + i] equal those at one of the distances before.
// A distance is considered only in words of 64 bytes that begin at or after it.
// Reads 64 bytes beyond `end` and writes one word more than [begin, end) touches. Units: byte offsets into `data`.
void find_matches(const unsigned char* data, std::size_t begin, std::size_t end, const Distances& distances, std::uint64_t* starts,
                  Simd simd) noexcept;

struct SurveySpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool encoded = false;
};

// Divides data[begin, end) into pieces. Owns nothing.
class Survey {
 public:
  Survey(const unsigned char* data, std::size_t begin, std::size_t end, const Distances& distances, Simd simd) noexcept;
  // The next piece; begin == end at the end. A piece to be encoded is at most kMaxEncoded long.
  SurveySpan next() noexcept;

  static constexpr std::size_t kUnit = 4096;  // the granularity of the decision: one sample per unit
  static constexpr std::size_t kMaxEncoded = 32768;

 private:
  bool worth_encoding(std::size_t begin, std::size_t end) const noexcept;
  std::size_t unit_end(std::size_t begin) const noexcept;

  const unsigned char* data_;
  std::size_t place_, end_;
  const Distances& distances_;
  Simd simd_;
  bool known_ = false, next_is_encoded_ = false;  // the decision for the unit at place_
};

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
