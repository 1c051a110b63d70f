// Huffman codes of limited length, canonical as deflate wants them, and the stream of bits that they are written into.
// Used by: the byte-plane deflate, one worker thread each.
// Before it: how often each symbol occurs. After it: the block's header and the emitter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace damaris::codec {

// Writes up to 8 bytes beyond its end: leave room for them. Little-endian hosts only, as all this project runs on.
class BitWriter {
 public:
  explicit BitWriter(unsigned char* out) noexcept : out_(out) {}

  // At most 56 bits at a time; `bits` has nothing set above `count`.
  __attribute__((always_inline)) void put(std::uint64_t bits, unsigned count) noexcept {
    held_ |= bits << count_;
    count_ += count;
    std::memcpy(out_, &held_, 8);
    out_ += count_ >> 3;
    held_ >>= count_ & 56;
    count_ &= 7;
  }

  // Fills the last byte up with zeros and returns the place behind it.
  unsigned char* align() noexcept {
    if (count_ != 0) put(0, 8 - count_);
    return out_;
  }
  // Goes on at another place, a whole byte: only after align().
  void go_to(unsigned char* out) noexcept { out_ = out; }
  unsigned char* place() const noexcept { return out_; }
  // Bits of the last, unfinished byte.
  unsigned pending() const noexcept { return count_; }

 private:
  unsigned char* out_;
  std::uint64_t held_ = 0;
  unsigned count_ = 0;  // below 8 between calls
};

constexpr std::size_t kMostHuffmanSymbols = 288;

// Lengths for `count` symbols (at most kMostHuffmanSymbols), none above `limit` bits; 0 for what does not occur.
// At least two symbols get a code, so that the code is complete. `count` >= 2; each frequency below 65536, their sum below 2^32.
void huffman_lengths(const std::uint32_t* frequencies, std::size_t count, unsigned limit, std::uint8_t* lengths) noexcept;

// The codes that belong to the lengths, their first bit lowest.
void huffman_codes(const std::uint8_t* lengths, std::size_t count, std::uint16_t* codes) noexcept;

}  // namespace damaris::codec
