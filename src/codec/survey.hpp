// Which parts of a byte plane are worth encoding, found from a sample of it; and where a byte of it repeats.
// Used by: the byte-plane deflate, one worker thread each.
// Before it: shuffled bytes. After it: pieces that are stored as they are and pieces that get a block with codes of its own.
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

struct SurveySpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool encoded = false;
};

// Goes through data[begin, end) piece by piece. Owns nothing.
class Survey {
 public:
  Survey(const unsigned char* data, std::size_t begin, std::size_t end, const Distances& distances, Simd simd) noexcept;
  // The next piece; begin == end when there is none left. Encoded ones are at most kLongestEncoded long.
  SurveySpan next() noexcept;

  static constexpr std::size_t kUnit = 4096;  // what one sample decides on
  static constexpr std::size_t kLongestEncoded = 32768;

 private:
  bool worth_encoding(std::size_t begin, std::size_t end) const noexcept;
  std::size_t unit_end(std::size_t begin) const noexcept;

  const unsigned char* data_;
  std::size_t place_, end_;
  const Distances& distances_;
  Simd simd_;
  bool known_ = false, next_is_encoded_ = false;  // what the sample said about the unit at place_
};

}  // namespace damaris::codec
