// The byte-plane deflate: encodes a chunk as an ordinary zlib stream of its shuffled bytes, plane by plane, in blocks that are stored or have
// dynamic Huffman codes.
// Used by: worker threads of the server, one encoder each.
// Before it: a chunk of a dataset; the symbols of its planes. After it: H5Dwrite_chunk on a dataset with the filters shuffle and deflate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "chunk.hpp"
#include "encoder.hpp"
#include "simd.hpp"
#include "symbols.hpp"

namespace damaris::codec {

// Writes up to 8 bytes beyond its end: reserve room for them. Little-endian hosts only, like the whole project.
class BitWriter {
 public:
  explicit BitWriter(unsigned char* out) noexcept : out_(out) {}

  // Appends at most 56 bits; no bit of `bits` above `count` may be set.
  __attribute__((always_inline)) void put(std::uint64_t bits, unsigned count) noexcept {
    held_ |= bits << count_;
    count_ += count;
    std::memcpy(out_, &held_, 8);
    out_ += count_ >> 3;
    held_ >>= count_ & 56;
    count_ &= 7;
  }

  // Pads the last byte with zeros and returns the position after it.
  unsigned char* align() noexcept {
    if (count_ != 0) put(0, 8 - count_);
    return out_;
  }
  // Continues at another position, on a byte boundary; only after align().
  void seek(unsigned char* out) noexcept { out_ = out; }
  unsigned char* position() const noexcept { return out_; }
  // Bits in the last, incomplete byte.
  unsigned pending() const noexcept { return count_; }

 private:
  unsigned char* out_;
  std::uint64_t held_ = 0;
  unsigned count_ = 0;  // below 8 between calls
};

constexpr std::size_t kMaxHuffmanSymbols = 288;

// Canonical Huffman codes of limited length: code lengths for `count` symbols (2 to kMaxHuffmanSymbols), each at most `limit` bits; 0 for
// symbols that do not occur. At least two symbols get a code, so that the code is complete. Each frequency must be below 65536, their sum
// below 2^32.
void huffman_lengths(const std::uint32_t* frequencies, std::size_t count, unsigned limit, std::uint8_t* lengths) noexcept;

// The codes for the lengths, first bit lowest.
void huffman_codes(const std::uint8_t* lengths, std::size_t count, std::uint16_t* codes) noexcept;

// One block with dynamic Huffman codes: header, symbols, end. Plans it, computes its size and writes it. Owns its tables; each thread keeps
// one object and reuses it for every block.
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

// Level 1: incompressible planes are stored; the others are encoded with matches at row distances and a Huffman code.
class PlaneDeflate : public Encoder {
 public:
  explicit PlaneDeflate(Simd simd = best_simd()) : simd_(at_most(simd)) {}

  Encoded encode(const Chunk& chunk) override;

 private:
  void encode_plane(std::size_t begin, std::size_t end, BitWriter& out);
  void encode_piece(const SurveySpan& piece, BitWriter& out);
  void store(std::size_t begin, std::size_t end, BitWriter& out) const;

  Simd simd_;
  Distances distances_;
  ScratchMemory shuffled_, stream_, symbols_;
  std::array<std::uint64_t, start_words(Survey::kMaxEncoded)> starts_;
  Block block_;
};

}  // namespace damaris::codec
