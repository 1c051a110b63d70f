// Length-limited canonical Huffman codes for deflate, and the bit stream they are written to.
// Used by: the byte-plane deflate, one worker thread each.
// Before it: symbol frequencies. After it: the block's header and the emitter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

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

// Code lengths for `count` symbols (2 to kMaxHuffmanSymbols), each at most `limit` bits; 0 for symbols that do not occur. At least
// two symbols get a code, so that the code is complete. Each frequency must be below 65536, their sum below 2^32.
void huffman_lengths(const std::uint32_t* frequencies, std::size_t count, unsigned limit, std::uint8_t* lengths) noexcept;

// The codes for the lengths, first bit lowest.
void huffman_codes(const std::uint8_t* lengths, std::size_t count, std::uint16_t* codes) noexcept;

}  // namespace damaris::codec
