// Bits into bytes, least significant first, as deflate wants them.
// Used by: the byte-plane deflate, one worker thread each.
// Before it: codes of the Huffman code. After it: the zlib stream.
#pragma once

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

}  // namespace damaris::codec
