// Input and output of a codec, and its scratch memory.
// Used by: writers of chunks, any thread of the server; the codecs.
// Before it: a block of the region. After it: H5Dwrite_chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace damaris::codec {

// A chunk in memory: `count` elements of `size` bytes, the last dimension contiguous. Owns nothing.
struct Chunk {
  const void* data = nullptr;
  std::size_t count = 0;
  std::size_t size = 0;
  std::uint64_t row = 0;  // elements of the last dimension, a hint that improves compression; 0: unknown

  std::size_t bytes() const noexcept { return count * size; }
};

// An encoded chunk. Owns nothing: the encoder owns the bytes until its next call.
struct Encoded {
  const void* data = nullptr;
  std::size_t bytes = 0;
  // False: encoding did not reduce the size. Write the chunk unencoded, with a filter mask that skips all filters.
  bool smaller = false;
};

// Scratch memory that grows to the largest request and is never freed in between; owned by an encoder.
class ScratchMemory {
 public:
  // Returns at least `bytes`, 64-byte aligned; the contents are lost. Throws std::bad_alloc after freeing the old memory.
  unsigned char* at_least(std::size_t bytes) {
    if (bytes <= bytes_) return memory_.get();
    memory_.reset();
    bytes_ = 0;
    memory_.reset(static_cast<unsigned char*>(::operator new(bytes, kAlignment)));
    std::memset(memory_.get(), 0, bytes);  // touches the memory once, so that later uses cause no page faults
    bytes_ = bytes;
    return memory_.get();
  }
  // The memory last returned by at_least().
  unsigned char* get() const noexcept { return memory_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct FreeAligned {
    void operator()(unsigned char* memory) const noexcept { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<unsigned char, FreeAligned> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace damaris::codec
