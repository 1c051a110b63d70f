// One block of a deflate stream with dynamic Huffman codes: header, symbols, end.
// Used by: the byte-plane deflate, one worker thread each.
// Before it: the symbols of a piece of a plane. After it: the bits of the stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "huffman.hpp"
#include "survey.hpp"
#include "symbols.hpp"

namespace damaris::codec {

// Plans a block, computes its size and writes it. Owns its tables; each thread keeps one object and reuses it for every block.
class Block {
 public:
  // Computes the codes for these symbols (at most 65535, with distances that deflate can express).
  void plan(const Halves& halves, const Distances& distances) noexcept;
  // Units: bits, including header and end; exact.
  std::uint64_t size_bits() const noexcept { return size_bits_; }
  // Writes the planned block, and up to 8 bytes beyond it. Pass the symbols given to plan().
  void write(const Halves& halves, bool last, BitWriter& out, Simd simd) const noexcept;

 private:
  static constexpr std::size_t kLiteralCodes = 286, kDistanceCodes = 30, kMaxLengths = kLiteralCodes + kDistanceCodes;
  struct CodeLength {  // one symbol of the header's code-length code with its extra bits
    std::uint8_t symbol, extra_bits, extra;
  };

  void count(const Halves& halves) noexcept;
  void join(const Distances& distances) noexcept;
  void plan_header() noexcept;
  void add_run(std::uint8_t length, std::size_t run) noexcept;
  void fill_table(const Distances& distances) noexcept;
  void add_up() noexcept;
  void write_header(bool last, BitWriter& out) const noexcept;

  std::array<std::uint32_t, kSymbolKinds> counts_;     // by Symbol
  std::array<std::uint32_t, kSymbolKinds> table_;      // code with extra bits in 26 bits, its length in 6 bits
  std::array<std::uint32_t, kLiteralCodes> literals_;  // frequencies of deflate's own symbols
  std::array<std::uint32_t, kDistanceCodes> distances_;
  std::array<std::uint8_t, kMaxLengths> lengths_;  // literals and lengths, then distances
  std::array<std::uint16_t, kLiteralCodes> literal_codes_;
  std::array<std::uint16_t, kDistanceCodes> distance_codes_;
  std::array<CodeLength, kMaxLengths> header_;
  std::array<std::uint8_t, 19> header_lengths_;
  std::array<std::uint16_t, 19> header_codes_;
  std::size_t header_count_ = 0, literal_count_ = 0, distance_count_ = 0, header_code_count_ = 0;
  std::uint64_t size_bits_ = 0;
};

}  // namespace damaris::codec
