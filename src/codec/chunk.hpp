// What a codec gets and what it gives back, and the memory that it works in.
// Used by: writers of chunks, any thread of the server; the codecs.
// Before it: a block of the region. After it: H5Dwrite_chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace damaris::codec {

// A chunk as it lies in memory: `count` elements of `size` bytes, the last dimension contiguous. Owns nothing.
struct Chunk {
  const void* data = nullptr;
  std::size_t count = 0;
  std::size_t size = 0;
  std::uint64_t row = 0;  // elements of the last dimension, which make smaller output; 0: not known

  std::size_t bytes() const noexcept { return count * size; }
};

// An encoded chunk. Owns nothing: the bytes are the encoder's until its next call.
struct Encoded {
  const void* data = nullptr;
  std::size_t bytes = 0;
  // False: encoding made nothing smaller. Write the chunk as it is, and set the filter mask so that all filters are skipped.
  bool smaller = false;
};

// Grows to the largest use and is kept; each encoder has its own.
class ScratchMemory {
 public:
  // At least `bytes`, 64-byte aligned; what was in it is lost. Throws std::bad_alloc, the old memory gone.
  unsigned char* at_least(std::size_t bytes);
  // What at_least() gave last.
  unsigned char* get() const noexcept { return memory_.get(); }

 private:
  struct FreeAligned {
    void operator()(unsigned char* memory) const noexcept;
  };
  std::unique_ptr<unsigned char, FreeAligned> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace damaris::codec
