#include "small_deflate.hpp"

#include <libdeflate.h>

#include <new>

#include "shuffle.hpp"

namespace damaris::codec {

void SmallDeflate::FreeCompressor::operator()(libdeflate_compressor* compressor) const noexcept {
  libdeflate_free_compressor(compressor);
}

SmallDeflate::SmallDeflate(int level, Simd simd) : compressor_(libdeflate_alloc_compressor(level)), simd_(at_most(simd)) {
  if (!compressor_) throw std::bad_alloc();
}

Encoded SmallDeflate::encode(const Chunk& chunk) {
  const std::size_t bytes = chunk.bytes();
  unsigned char* shuffled = shuffled_.at_least(bytes + 1);
  const std::size_t bound = libdeflate_zlib_compress_bound(compressor_.get(), bytes);
  unsigned char* stream = stream_.at_least(bound);
  shuffle(static_cast<const std::byte*>(chunk.data), chunk.count, chunk.size, reinterpret_cast<std::byte*>(shuffled), simd_);
  const std::size_t size = libdeflate_zlib_compress(compressor_.get(), shuffled, bytes, stream, bound);
  return {stream, size, size != 0 && size < bytes};
}

}  // namespace damaris::codec
