// Which parts of a byte plane are worth encoding, found from a sample of it.
// Used by: the byte-plane deflate, one worker thread each.
// Before it: shuffled bytes. After it: pieces that are stored as they are and pieces that get a block with codes of its own.
#pragma once

#include <cstddef>

#include "match_mask.hpp"

namespace damaris::codec {

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
