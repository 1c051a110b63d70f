// Where a byte plane repeats itself at one of a few known distances: the neighbour in the row, and those in the row before.
// Used by: the byte-plane deflate, one worker thread each.
// Before it: shuffled bytes. After it: the parser, which looks only where a bit is set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "simd.hpp"

namespace damaris::codec {

constexpr std::size_t kMostDistances = 6;
constexpr std::size_t kShortestMatch = 3;

// Ascending, each once, 1 to 32768.
struct Distances {
  std::array<std::uint32_t, kMostDistances> values = {};
  std::size_t count = 0;

  // Those worth a look in rows of `row` elements; 0: the row is not known.
  static Distances of_row(std::uint64_t row) noexcept;
};

// How many words find_matches() writes at most for a range of so many bytes, wherever it begins: those that it touches, and one more.
constexpr std::size_t start_words(std::size_t bytes) noexcept { return bytes / 64 + 3; }

// Bit i of starts[w]: at data[64 (begin / 64 + w) + i] three bytes begin that are also there one of the distances before.
// A distance counts only in words of 64 bytes that begin at it or behind it.
// Reads 64 bytes beyond `end` and writes a word more than [begin, end) touches. Units: bytes from the beginning of `data`.
void find_matches(const unsigned char* data, std::size_t begin, std::size_t end, const Distances& distances, std::uint64_t* starts,
                  Simd simd) noexcept;

}  // namespace damaris::codec
